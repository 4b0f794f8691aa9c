// SPDX-License-Identifier: BSD-3-Clause
// Impossible numbers of a single record: one changed number gives exactly one finding.
#include <functional>
#include <limits>

#include "tests/harness/judge/audit/audited_values.hpp"

namespace plumbline::testing {
namespace {

using ::testing::ElementsAre;

constexpr float no_number = std::numeric_limits<float>::quiet_NaN();
constexpr float infinite = std::numeric_limits<float>::infinity();

/// An evaluation after each step, on two microbatches, on the last rank of two.
SyntheticRun evaluated_run(const std::string& level) {
  SyntheticRun run = synthetic_candidate({.level = level});
  run.manifest["evaluation"] = {{"every", 1}, {"microbatches", 2}};
  for (std::int64_t step = 0; step < synthetic_steps; ++step) {
    run.ranks.back().evaluation.push_back({step, 0, 7, 7, 1.5F, std::string(32, 'a')});
    run.ranks.back().evaluation.push_back({step, 1, 3, 0, 0, std::string(32, 'b')});
    run.ranks.back().evaluation.push_back({step, std::nullopt, 10, 7, 1.5F, ""});
  }
  return run;
}

std::vector<std::string> findings_of(const SyntheticRun& run, const auditing::AuditOptions& options = {}) {
  const TemporaryFolder folder;
  write_run(run, folder / "record");
  return words_of(audit_record(folder / "record", options));
}

/// In both steps, so that none differs from another.
void each_evaluation(SyntheticRun& run, std::size_t index, const std::function<void(EvaluationRow&)>& change) {
  for (std::size_t step = 0; step < static_cast<std::size_t>(synthetic_steps); ++step)
    change(run.ranks.back().evaluation.at(3 * step + index));
}

struct ImpossibleNumber {
  std::string name;
  std::function<void(SyntheticRun&)> change;
  std::string where, what;  ///< "rank-1/...: step 1, ...", "... (expected ..., got ...)"
};

void PrintTo(const ImpossibleNumber& number, std::ostream* out) {
  *out << number.name;
}

std::string name_of_number(const ::testing::TestParamInfo<ImpossibleNumber>& info) {
  return info.param.name;
}

class PossibleNumbers : public ::testing::TestWithParam<ImpossibleNumber> {};

EvaluationRow& evaluation(SyntheticRun& run, std::size_t index) {
  return run.ranks.back().evaluation.at(index);
}

/// Of step 1, on the rank that has the loss.
MicrobatchRow& microbatch(SyntheticRun& run, std::size_t index) {
  return run.ranks.back().microbatches.at(static_cast<std::size_t>(synthetic_microbatches) + index);
}

INSTANTIATE_TEST_SUITE_P(
    OfEvaluations, PossibleNumbers,
    ::testing::Values(
        ImpossibleNumber{"not_a_number", [](SyntheticRun& run) { evaluation(run, 3).loss = no_number; },
                         "rank-1/evaluation.csv:5: step 1, microbatch 0, rank 1, loss: ",
                         "not finite (expected a finite number, got nan)"},
        ImpossibleNumber{
            "infinite_whole", [](SyntheticRun& run) { evaluation(run, 5).loss = infinite; },
            "rank-1/evaluation.csv:7: step 1, rank 1, loss: ", "not finite (expected a finite number, got inf)"},
        ImpossibleNumber{"negative",
                         [](SyntheticRun& run) {
                           evaluation(run, 3).loss = -0.25F;
                           evaluation(run, 5).loss = -0.25F;
                         },
                         "rank-1/evaluation.csv:5: step 1, microbatch 0, rank 1, loss: no sum of cross-entropies",
                         "is never below 0, got -0.25)"},
        ImpossibleNumber{"whole_loss", [](SyntheticRun& run) { evaluation(run, 5).loss = 1.500001F; },
                         "rank-1/evaluation.csv:7: step 1, rank 1, loss: it is not the sum",
                         "(expected 1.5, got 1.500001)"},
        ImpossibleNumber{"whole_tokens", [](SyntheticRun& run) { evaluation(run, 5).tokens = 11; },
                         "rank-1/evaluation.csv:7: step 1, rank 1, tokens: it is not the sum", "(expected 10, got 11)"},
        ImpossibleNumber{"whole_valid_tokens", [](SyntheticRun& run) { evaluation(run, 2).valid_tokens = 8; },
                         "rank-1/evaluation.csv:4: step 0, rank 1, valid_tokens: it is not the sum",
                         "(expected 7, got 8)"},
        ImpossibleNumber{"other_data", [](SyntheticRun& run) { evaluation(run, 4).data_digest = other_digest; },
                         "rank-1/evaluation.csv:6: step 1, microbatch 1, rank 1, data_digest: differs from the "
                         "evaluation after step 0",
                         "got " + other_digest + ")"},
        ImpossibleNumber{
            "other_tokens",
            [](SyntheticRun& run) {
              evaluation(run, 4).tokens = 4;
              evaluation(run, 5).tokens = 11;
            },
            "rank-1/evaluation.csv:6: step 1, microbatch 1, rank 1, tokens: differs from the evaluation after step 0",
            "(expected 3, got 4)"},
        ImpossibleNumber{"other_valid_tokens",
                         [](SyntheticRun& run) {
                           evaluation(run, 3).valid_tokens = 6;
                           evaluation(run, 5).valid_tokens = 6;
                         },
                         "rank-1/evaluation.csv:5: step 1, microbatch 0, rank 1, valid_tokens: differs from the "
                         "evaluation after step 0",
                         "(expected 7, got 6)"},
        ImpossibleNumber{
            "no_whole", [](SyntheticRun& run) { run.ranks.back().evaluation.pop_back(); },
            "rank-1/evaluation.csv:5: step 1, rank 1, rows of the whole evaluation: ", "(expected 1, got 0)"},
        ImpossibleNumber{
            "no_microbatch",
            [](SyntheticRun& run) { run.ranks.back().evaluation.erase(run.ranks.back().evaluation.begin() + 4); },
            "rank-1/evaluation.csv:5: step 1, rank 1, rows of microbatch 1: ", "(expected 1, got 0)"},
        ImpossibleNumber{"no_evaluation", [](SyntheticRun& run) { run.ranks.back().evaluation.resize(3); },
                         "evaluation.csv: step 1, rows: manifest.json has an evaluation after this step",
                         "(expected an evaluation, got none)"}),
    name_of_number);

INSTANTIATE_TEST_SUITE_P(
    OfSteps, PossibleNumbers,
    ::testing::Values(
        ImpossibleNumber{"negative", [](SyntheticRun& run) { microbatch(run, 0).loss = -0.6F; },
                         "rank-1/microbatches.csv:7: step 1, microbatch 0, rank 1, loss: no sum of cross-entropies",
                         "is never below 0, got -0.6)"},
        ImpossibleNumber{"masked", [](SyntheticRun& run) { microbatch(run, 4).loss = 0.5F; },
                         "rank-1/microbatches.csv:11: step 1, microbatch 4, rank 1, loss: no sum of cross-entropies",
                         "(expected 0, without a valid token, got 0.5)"},
        ImpossibleNumber{"not_a_number", [](SyntheticRun& run) { microbatch(run, 2).loss = no_number; },
                         "rank-1/microbatches.csv:9: step 1, microbatch 2, rank 1, loss: not finite", "got nan)"},
        ImpossibleNumber{"infinite_loss", [](SyntheticRun& run) { run.ranks[1].steps[1].loss = infinite; },
                         "rank-1/steps.csv:3: step 1, rank 1, loss: not finite", "got inf)"},
        ImpossibleNumber{"infinite_norm", [](SyntheticRun& run) { run.ranks[1].steps[1].gradient_norm = infinite; },
                         "rank-1/steps.csv:3: step 1, rank 1, gradient_norm: not finite", "got inf)"}),
    name_of_number);

TEST_P(PossibleNumbers, AreDemandedOfARecordAlone) {
  SyntheticRun run = evaluated_run("summary");
  EXPECT_THAT(findings_of(run), IsEmpty());
  GetParam().change(run);

  EXPECT_THAT(findings_of(run), Contains(AllOf(StartsWith(GetParam().where), EndsWith(GetParam().what))).Times(1))
      << ::testing::PrintToString(findings_of(run));
}

TEST_P(PossibleNumbers, AreLeftToTheOtherChecksWhereTwoAreCompared) {
  SyntheticRun run = evaluated_run("summary");
  GetParam().change(run);
  EXPECT_THAT(findings_of(run, {.alone = false}),
              Not(Contains(AllOf(StartsWith(GetParam().where), EndsWith(GetParam().what)))));
}

TEST(PossibleNumbersOfTensors, AreFinite) {
  for (const auto& [count, words] : {std::pair{&TensorRow::nan, "(expected finite values, got 3 NaN and 0 infinite)"},
                                     {&TensorRow::inf, "(expected finite values, got 0 NaN and 3 infinite)"}}) {
    SyntheticRun run = evaluated_run("full");
    tensor_row(run, 1, "moment1", norm_weight).*count = 3;

    EXPECT_THAT(findings_of(run),
                Contains(AllOf(HasSubstr("moment1 " + norm_weight + ": not finite"), EndsWith(words))));
  }
}

TEST(PossibleNumbersOfSteps, WhatFollowsFromTheFirstStepIsNotToldAgain) {
  SyntheticRun run = evaluated_run("summary");
  for (StepRow& row : run.ranks[1].steps) row.loss = infinite;

  EXPECT_THAT(findings_of(run), Contains(HasSubstr("loss: not finite")).Times(1));
}

TEST(PossibleNumbersOfEvaluations, CountAsRecomputedInTheirSumsAlone) {
  const TemporaryFolder folder;
  write_run(evaluated_run("full"), folder / "record");

  EXPECT_EQ(audit_record(folder / "record").recomputed.at("numbers") -
                audit_record(folder / "record", {.alone = false}).recomputed.at("numbers"),
            3 * synthetic_steps);
}

TEST(PossibleNumbersOfEvaluations, OfALossThatIsNoNumberNoSumIsAsked) {
  SyntheticRun run = evaluated_run("summary");
  evaluation(run, 3).loss = no_number;

  EXPECT_THAT(findings_of(run), ElementsAre(HasSubstr("microbatch 0, rank 1, loss: not finite")));
}

TEST(PossibleNumbersOfEvaluations, AreThoseAfterItsStepsAlone) {
  SyntheticRun run = evaluated_run("summary");
  run.manifest["evaluation"]["every"] = 0;  // after the last step alone
  auto& rows = run.ranks.back().evaluation;
  rows.erase(rows.begin(), rows.begin() + 3);

  EXPECT_THAT(findings_of(run), IsEmpty());
}

TEST(PossibleNumbersOfEvaluations, OfAnotherModelALossMayBeNegative) {
  SyntheticRun run = evaluated_run("summary");
  run.manifest["role"] = "external";
  run.manifest["model"]["model_type"] = "other";
  for (const std::size_t row : {0U, 2U}) each_evaluation(run, row, [](EvaluationRow& one) { one.loss = -1; });

  EXPECT_THAT(findings_of(run), Not(Contains(HasSubstr("evaluation.csv"))));
}

}  // namespace
}  // namespace plumbline::testing
