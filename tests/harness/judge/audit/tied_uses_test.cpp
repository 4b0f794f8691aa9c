// SPDX-License-Identifier: BSD-3-Clause
// The gradient of a tied weight against its two uses.
#include "tests/harness/judge/audit/audited_values.hpp"

namespace plumbline::testing {
namespace {

class TiedUses : public AuditedValues {
 protected:
  TiedUses() { trained.run = synthetic_candidate(trained_plan("sgd", /*tied=*/true)); }
};

TEST_F(TiedUses, ThatWereNotDumpedAreToldAsNotAudited) {
  const auto record = write();
  leave_out(record, "rank-1/dumps/step-1.safetensors", "gradient_use/lm_head.weight");

  const Audit found = audit_record(record);

  for (const Finding& finding : found.findings) ADD_FAILURE() << words_of(finding);
  EXPECT_THAT(found.not_audited, ::testing::ElementsAre(HasSubstr("they were not dumped (gradient_use/)")));
  EXPECT_EQ(found.recomputed.at("tied_sums"), 2) << "of the other step, on both ranks";
}

TEST_F(TiedUses, OfTwoShapesAreToldAsNotAudited) {
  const auto record = write();
  change_dump(record, "rank-1/dumps/step-1.safetensors", [](Tensors& tensors) {
    SafetensorsEntry& use = tensors.at("gradient_use/lm_head.weight");
    use.shape = {2, 4}, use.bytes = use.bytes.first(32);
  });

  EXPECT_THAT(audit_record(record).not_audited, ::testing::ElementsAre(HasSubstr("were not dumped (gradient_use/)")));
}

TEST_F(TiedUses, ASumOfFewerElementsIsRedInItsShapeAlone) {
  const auto record = write();
  change_dump(record, "rank-1/dumps/step-1.safetensors", [](Tensors& tensors) {
    SafetensorsEntry& sum = tensors.at("gradient/lm_head.weight");
    sum.shape = {2, 4}, sum.bytes = sum.bytes.first(32);
  });

  EXPECT_THAT(audit_record(record).findings, Each(Field(&Finding::item, "shape of gradient lm_head.weight")));
}

TEST_F(TiedUses, ThatAreNotAddedAreRedOnEachRankInTheFirstSuchElement) {
  trained.mistake = Mistake::tied_use_dropped;

  const Audit found = audit_record(write());

  std::vector<Finding> sums;
  std::copy_if(found.findings.begin(), found.findings.end(), std::back_inserter(sums),
               [](const Finding& finding) { return finding.why.starts_with("it is not the sum of the tied"); });
  ASSERT_THAT(sums, SizeIs(2 * synthetic_steps));
  EXPECT_EQ(sums[0].source, "rank-0/dumps/step-0.safetensors");
  EXPECT_EQ(sums[0].item, "gradient model.embed_tokens.weight, element 0");
  EXPECT_EQ(sums[0].level, auditing::part::gradient);
  EXPECT_THAT(sums[0].why, EndsWith("in 24 of 32 elements"));
  EXPECT_EQ(sums[3].source, "rank-1/dumps/step-1.safetensors");
  EXPECT_EQ(sums[3].item, "gradient lm_head.weight, element 0");
  EXPECT_EQ(sums[3].rank, 1);
  EXPECT_NE(sums[3].expected, sums[3].got);
}

}  // namespace
}  // namespace plumbline::testing
