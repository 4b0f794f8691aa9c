// SPDX-License-Identifier: BSD-3-Clause
// From two records with dumps to the signatures of the first divergence: the tensor, the facts from the records, and
// every family of patterns.

#include <bit>

#include "harness/sweep/fault_signatures/dumped_step.hpp"
#include "record/digest.hpp"
#include "tests/harness/judge/synthetic_run.hpp"
#include "tests/harness/sweep/fault_signatures/dumped_runs.hpp"

namespace plumbline::testing {
namespace {

namespace fs = std::filesystem;

std::string digest_of_values(const Values& values) {
  return tensor_digest("float32", {std::ssize(values)}, std::as_bytes(std::span(values)));
}

class FindFingerprints : public ::testing::Test {
 protected:
  FindFingerprints() {
    first_.step = 1;
    first_.rank = 1;
    first_.expected = digest_of_values(right_);
    first_.got = digest_of_values(wrong_);
  }
  /// Writes the records in their current form.
  void write() {
    const fs::path place = cell_.folder / std::to_string(++written_);
    make_folder(place);
    reference_folder_ = place / "reference";
    candidate_folder_ = place / "candidate";
    write_run(cell_.reference, reference_folder_);
    write_run(cell_.candidate, candidate_folder_);
  }
  std::optional<ValueFindings> find() {
    write();
    for (const auto& [step, tensors] : reference_) write_dump(reference_folder_, 0, step, tensors);
    for (const auto& [place, tensors] : candidate_) write_dump(candidate_folder_, place.first, place.second, tensors);
    return find_fault_signatures(first_, reference_folder_, candidate_folder_);
  }
  std::vector<std::string> names() {
    const auto findings = find();
    std::vector<std::string> names;
    if (!findings) return {"no findings"};
    for (const auto& each : findings->fault_signatures) names.push_back(each.name);
    return names;
  }

  Values one_bit_flipped() const {
    Values flipped = right_;
    flipped[2] = std::bit_cast<float>(std::bit_cast<std::uint32_t>(flipped[2]) ^ 1U);
    return flipped;
  }

  const Values right_{1, 2, 3, 4}, wrong_{1.5F, 2, 3, -4};
  SyntheticCell cell_;
  std::map<std::int64_t, Tensors> reference_;                          ///< by step
  std::map<std::pair<std::size_t, std::int64_t>, Tensors> candidate_;  ///< by rank and step
  Finding first_;
  fs::path reference_folder_, candidate_folder_;
  int written_ = 0;
};

TEST_F(FindFingerprints, ThereIsNothingToSayWithoutDumpsOfThatStepInBoth) {
  EXPECT_FALSE(find());
  reference_[1] = {{"gradient/w", right_}};
  EXPECT_FALSE(find());
  candidate_[{1, 0}] = {{"gradient/w", wrong_}};
  EXPECT_FALSE(find());
  reference_.clear();
  candidate_[{1, 1}] = {{"gradient/w", wrong_}};
  EXPECT_FALSE(find());
}

TEST_F(FindFingerprints, TheTensorIsThatOfTheRankWithItsUlps) {
  reference_[1] = {{"gradient/a", {7, 8, 9, 10}}, {"gradient/w", right_}};
  candidate_[{0, 1}] = {{"gradient/copy", wrong_}};  // the same bits on another rank
  candidate_[{1, 1}] = {{"gradient/a", {7, 8, 9, 10}}, {"gradient/w", wrong_}};

  const auto findings = find();

  ASSERT_TRUE(findings);
  EXPECT_EQ(findings->step, 1);
  EXPECT_EQ(findings->tensor, "gradient/w");
  ASSERT_FALSE(findings->ulps.empty());
  EXPECT_EQ(findings->ulps[0].from, 0);
  EXPECT_EQ(findings->ulps[0].elements, 2);
  EXPECT_THAT(findings->fault_signatures, IsEmpty());
  EXPECT_THAT(findings->otherwise,
              AllOf(HasSubstr("no known mistake leaves these values: gradient/w is -0."),
                    HasSubstr("x the reference's with a residual of"), EndsWith("2 of 4 elements differ")));
}

TEST_F(FindFingerprints, WithoutARankThatOfAnyIsTaken) {
  reference_[1] = {{"gradient/w", right_}};
  candidate_[{0, 1}] = {{"gradient/copy", wrong_}};
  first_.rank.reset();

  EXPECT_EQ(find()->tensor, "gradient/copy");
}

TEST_F(FindFingerprints, WhereOneSideDidNotDumpItNothingCanBeCompared) {
  for (const bool of_reference : {false, true}) {
    reference_[1] = {{"gradient/w", of_reference ? right_ : Values{0, 1}}};
    candidate_[{1, 1}] = {{"parameter/x", of_reference ? Values{0, 1} : wrong_}};

    const auto findings = find();

    ASSERT_TRUE(findings);
    EXPECT_EQ(findings->tensor, "");
    EXPECT_THAT(findings->ulps, IsEmpty());
    EXPECT_EQ(findings->otherwise,
              "no known mistake leaves these values: the tensors of the first divergence cannot be compared by value");
  }
}

TEST_F(FindFingerprints, AMistakeThatShowsInTwoPlacesIsToldOnceWithBoth) {
  const Values other{0.5F, 3, -2, 1}, five{5, 15, -10, 5};  // five microbatches; the cut's is half of it
  first_.direction = "backward";
  first_.item = "layers.1";
  reference_[1] = {{"boundary/backward/0/layers.1/computed", other}, {"gradient/w", {1, 3, -2, 1}}};
  candidate_[{1, 1}] = {{"boundary/backward/0/layers.1/send", {2.5F, 15, -10, 5}}, {"gradient/w", five}};

  const auto findings = find();

  ASSERT_TRUE(findings);
  ASSERT_EQ(findings->fault_signatures.size(), 1U);
  EXPECT_EQ(findings->fault_signatures[0].name, "not_scaled");
  EXPECT_THAT(findings->fault_signatures[0].words, HasSubstr("the gradient at boundary layers.1 is 5.0000 x"));
  EXPECT_THAT(findings->fault_signatures[0].evidence,
              AllOf(HasSubstr("1 microbatches that differ"), HasSubstr("; gradients of stage 1 are 5.0000 x"),
                    HasSubstr("(ratio 5.0000 in 1 of 1 gradients")));
  EXPECT_EQ(findings->otherwise, "");
}

TEST_F(FindFingerprints, AFactorIsAmongThem) {
  reference_[1] = {{"gradient/w", {1, 3, -2, 1}}};
  candidate_[{1, 1}] = {{"gradient/w", {2, 6, -4, 2}}};

  EXPECT_THAT(names(), ElementsAre("counted_twice"));
}

TEST_F(FindFingerprints, AMicrobatchThatIsMissingIsAmongThem) {
  Tensors& dumped = reference_[1];
  dumped["gradient/w"] = {10, 3, -2, 1};
  const std::vector<Values> after{{1, 2, 4, 8}, {3, 0, 0, 1}};
  for (std::size_t microbatch = 0; microbatch < synthetic_microbatches; ++microbatch) {
    dumped["gradient_after/" + std::to_string(microbatch) + "/w"] =
        microbatch < after.size() ? after[microbatch] : dumped["gradient/w"];
  }
  candidate_[{1, 1}] = {{"gradient/w", {9, 1, -6, -7}}};

  EXPECT_THAT(names(), ElementsAre("microbatch_missing"));
}

TEST_F(FindFingerprints, OfATensorOfNoFamilyASingleBitIsToldWithItsKey) {
  const Values flipped = one_bit_flipped();
  reference_[1] = {{"parameter/w", right_}};
  candidate_[{1, 1}] = {{"parameter/w", flipped}};
  first_.got = digest_of_values(flipped);

  const auto findings = find();

  ASSERT_TRUE(findings);
  ASSERT_EQ(findings->fault_signatures.size(), 1U);
  EXPECT_EQ(findings->fault_signatures[0].name, "one_bit");
  EXPECT_EQ(findings->fault_signatures[0].words, "parameter/w differs in a single bit");
  EXPECT_EQ(findings->otherwise, "");
}

// A gradient that is already reported is not reported again as a single element.
TEST_F(FindFingerprints, ASingleBitIsNotSaidBesideAnotherMistake) {
  const Values flipped = one_bit_flipped();
  reference_[1] = {{"parameter/w", right_}, {"gradient/w", {1, 3, -2, 1}}};
  candidate_[{1, 1}] = {{"parameter/w", flipped}, {"gradient/w", {5, 15, -10, 5}}};
  first_.got = digest_of_values(flipped);

  EXPECT_THAT(names(), ElementsAre("not_scaled"));
}

class StepFactsOf : public FindFingerprints {
 protected:
  StepFacts facts(std::int64_t step) {
    write();
    return step_facts(reference_folder_, candidate_folder_, step);
  }
};

TEST_F(StepFactsOf, TheRunAreThoseOfBothManifests) {
  const StepFacts of_run = facts(1);

  EXPECT_EQ(of_run.microbatches, synthetic_microbatches);
  EXPECT_FALSE(of_run.sums_microbatches_apart);
  EXPECT_THAT(of_run.tied, ElementsAre(::testing::UnorderedElementsAre(head_weight, embedding_weight)));
  EXPECT_TRUE(of_run.is_tied(head_weight));
  EXPECT_FALSE(of_run.is_tied("model.norm.weight"));
  EXPECT_EQ(of_run.stage_of.at("model.layers.0.input_layernorm.weight"), 0);
  EXPECT_EQ(of_run.stage_of.at("model.layers.1.input_layernorm.weight"), 1);
  EXPECT_EQ(of_run.stage_of.at("model.norm.weight"), 1);
}

TEST_F(StepFactsOf, AListedOrderSumsMicrobatchesApart) {
  cell_.reference.manifest["schedule"]["accumulation"] = "listed";
  cell_.reference.manifest["schedule"]["accumulation_digest"] = other_digest;

  EXPECT_TRUE(facts(1).sums_microbatches_apart);
}

TEST_F(StepFactsOf, TokensAreThoseOfTheStep) {
  const auto tokens = cell_.reference.ranks[0].steps[1].valid_tokens;
  cell_.reference.ranks[0].steps[0].valid_tokens = tokens + 1;

  EXPECT_EQ(facts(1).valid_tokens, tokens);
}

}  // namespace
}  // namespace plumbline::testing
