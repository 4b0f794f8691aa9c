// SPDX-License-Identifier: BSD-3-Clause
// The bfloat16 copies of mixed precision, by their values and by the tables alone.
#include "support/numbers.hpp"
#include "tests/harness/judge/audit/audited_values.hpp"

namespace plumbline::testing {
namespace {

class AuditedCopies : public AuditedValues {
 protected:
  AuditedCopies() { trained.mixed = true; }
  /// Tables alone.
  std::filesystem::path with_full_tables(const std::function<void(SyntheticRun&)>& change) {
    return with_tables(write(), [&](SyntheticRun& run) {
      run.manifest["level"] = "full";
      change(run);
    });
  }
};

TEST_F(AuditedCopies, AreTheirMastersRounded) {
  const auto record = write();
  const Audit found = audit_record(record);

  for (const Finding& finding : found.findings) ADD_FAILURE() << words_of(finding);
  EXPECT_TRUE(found.from_values);
}

TEST_F(AuditedCopies, ThatAreTruncatedAreRedFromTheStartOnInTheFirstSuchElement) {
  trained.mistake = Mistake::copies_truncated;

  const Audit found = audit_record(write());

  EXPECT_THAT(found.findings,
              Contains(AllOf(Field(&Finding::step, -1), Field(&Finding::level, auditing::part::parameter),
                             Field(&Finding::item, "copy lm_head.weight, element 1"),
                             Field(&Finding::source, HasSubstr("rank-1/tensors.csv:")))));
  EXPECT_THAT(found.findings, Each(Field(&Finding::why, "a copy is its master rounded once to bfloat16")));
}

TEST_F(AuditedCopies, OfAnotherTrainerAreHeldToTheirValuesToo) {
  trained.run.manifest["role"] = "external";
  expect_none(write());

  trained.mistake = Mistake::copies_truncated;
  EXPECT_THAT(audit_record(write()).findings, Not(IsEmpty()));
}

TEST_F(AuditedCopies, HaveTheirMastersLargestRoundedInTheTablesAlone) {
  expect_none(with_full_tables([](SyntheticRun&) {}));
  const auto wrong =
      with_full_tables([](SyntheticRun& run) { tensor_row(run, 1, "copy", norm_weight).max_abs = 0.75F; });
  const TensorRow& row = tensor_row(trained.run, 1, "copy", norm_weight);

  expect_one(wrong, auditing::part::parameter,
             line_of(trained.run, row) + ": step 1, stage 1, rank 1, max_abs of copy model.norm.weight: a copy is",
             "(expected " + to_text(static_cast<double>(row.max_abs)) + ", got 0.75)");
}

TEST_F(AuditedCopies, OfAnotherTrainerMayHaveAnyLargestInTheTables) {
  trained.run.manifest["role"] = "external";

  expect_none(with_full_tables([](SyntheticRun& run) { tensor_row(run, 1, "copy", norm_weight).max_abs = 0.75F; }));
}

TEST_F(AuditedCopies, OfAMasterThatIsNotFiniteHaveNoLargest) {
  for (const auto count : {&TensorRow::nan, &TensorRow::inf}) {
    const Audit found = audit_record(with_full_tables([&](SyntheticRun& run) {
      tensor_row(run, 1, "parameter", norm_weight).*count = 1;
      tensor_row(run, 1, "copy", norm_weight).max_abs = 0.75F;
    }));

    ASSERT_THAT(found.findings, SizeIs(1));
    EXPECT_THAT(words_of(found.findings[0]), HasSubstr("parameter model.norm.weight: not finite"));
  }
}

TEST_F(AuditedCopies, WithoutAMasterIsRed) {
  const auto record = with_full_tables([](SyntheticRun& run) {
    std::erase_if(run.ranks[1].tensors,
                  [](const auto& row) { return row.step == 1 && row.kind == "parameter" && row.name == norm_weight; });
  });

  const Audit found = audit_record(record);

  ASSERT_THAT(found.findings, SizeIs(1));
  EXPECT_THAT(words_of(found.findings[0]), AllOf(HasSubstr("step 1, stage 1, rank 1, copy model.norm.weight"),
                                                 EndsWith("(expected its master, got none)")));
}

}  // namespace
}  // namespace plumbline::testing
