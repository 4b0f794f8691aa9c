// SPDX-License-Identifier: BSD-3-Clause
#include <gmock/gmock.h>

#include <cmath>
#include <functional>
#include <limits>

#include "tests/harness/judge/synthetic_run.hpp"

namespace plumbline::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

/// Evaluates after each step, on two microbatches; both records.
struct EvaluatedCell : SyntheticCell {
  explicit EvaluatedCell(std::int64_t every = 1) {
    for (SyntheticRun* run : {&reference, &candidate}) add(*run, every);
  }

  static void add(SyntheticRun& run, std::int64_t every) {
    run.manifest["evaluation"] = {{"every", every}, {"microbatches", 2}};
    auto& rows = run.ranks.back().evaluation;
    for (std::int64_t step = every == 0 ? synthetic_steps - 1 : 0; step < synthetic_steps; ++step) {
      rows.push_back({step, 0, 7, 7, 1.5F, std::string(32, 'a')});
      rows.push_back({step, 1, 3, 2, 0.25F, std::string(32, 'b')});
      rows.push_back({step, std::nullopt, 10, 9, 1.75F, ""});
    }
  }

  /// Of the candidate: 0 and 1 are the microbatches after step 0, 2 is the whole; 3 to 5 after step 1.
  EvaluationRow& row(std::size_t index) { return candidate.ranks.back().evaluation.at(index); }
};

void expect_evaluation_red(SyntheticCell& cell, std::int64_t step, std::optional<std::int64_t> microbatch,
                           const std::string& item, const std::string& words) {
  const auto place = expect_red(cell, {"evaluation"}, {.step = step, .item = item, .words = words});
  EXPECT_EQ(place.microbatch, microbatch);
}

TEST(EvaluationCheck, DoesNotApplyWhereNeitherRunWasToEvaluate) {
  SyntheticCell cell;
  const CellVerdict verdict = cell.judge();
  EXPECT_TRUE(verdict.holds);
  EXPECT_EQ(result_of(verdict, "evaluation").outcome, Outcome::does_not_apply);
}

TEST(EvaluationCheck, AfterTheLastStepAlone) {
  EvaluatedCell cell(0);
  EXPECT_EQ(expect_outcome(cell, "evaluation", Outcome::holds).compared.at("evaluations"), 1);
}

TEST(EvaluationCheck, ADifferentEvaluationInOneRunFails) {
  struct Case {
    void (*change)(SyntheticCell&);
    const char* words;
  };
  for (const auto& [change, words] :
       {Case{[](auto& cell) { EvaluatedCell::add(cell.reference, 1); }, "run both with the same [evaluate]"},
        Case{[](auto& cell) { EvaluatedCell::add(cell.candidate, 1); }, "run both with the same [evaluate]"},
        Case{[](auto& cell) {
               EvaluatedCell::add(cell.reference, 0);
               EvaluatedCell::add(cell.candidate, 1);
             },
             "evaluation.every is 0"},
        Case{[](auto& cell) {
               for (auto* run : {&cell.reference, &cell.candidate}) EvaluatedCell::add(*run, 1);
               cell.candidate.manifest["evaluation"]["microbatches"] = 3;
             },
             "evaluation.microbatches is 2"}}) {
    SyntheticCell cell;
    change(cell);
    expect_red(cell, {"evaluation"}, {.words = words});
  }
}

TEST(EvaluationCheck, AResumedRunIsComparedFromItsFirstStep) {
  EvaluatedCell cell;
  begin_with_second_step(cell.candidate);
  std::erase_if(cell.candidate.ranks.back().evaluation, [](const EvaluationRow& row) { return row.step == 0; });
  const auto verdict = cell.judge();
  EXPECT_THAT(with_outcome(verdict, Outcome::differs), IsEmpty());
  EXPECT_EQ(result_of(verdict, "evaluation").compared.at("evaluations"), 1);
}

TEST(EvaluationCheck, TheRecordMustMatchTheRequest) {
  EvaluatedCell cell;
  cell.plan.request.emplace();
  cell.plan.request->evaluation.emplace();  // none
  EXPECT_THAT(result_of(cell.judge(), "as_asked").reason, HasSubstr("evaluation is made, requested was none"));

  SyntheticCell without;
  without.plan.request.emplace();
  without.plan.request->evaluation.emplace(RequestedEvaluation{.every = 1, .microbatches = {{{7}, false}}, .data = {}});
  EXPECT_THAT(result_of(without.judge(), "as_asked").reason, HasSubstr("evaluation is none, requested was made"));

  SyntheticCell as_asked;
  as_asked.plan.request.emplace();
  as_asked.plan.request->evaluation.emplace();
  const CellVerdict verdict = as_asked.judge();
  EXPECT_EQ(result_of(verdict, "as_asked").outcome, Outcome::holds);
  EXPECT_EQ(result_of(verdict, "evaluation").reason, "neither run evaluates");
}

TEST(EvaluationCheck, MissingExternalDigestsAreNamedOnce) {
  for (const bool of_candidate : {true, false}) {
    EvaluatedCell cell;
    SyntheticRun& run = of_candidate ? cell.candidate : cell.reference;
    run.manifest["role"] = "external";
    for (auto& row : run.ranks.back().evaluation) row.data_digest.clear();

    const auto found = expect_outcome(cell, "evaluation", Outcome::holds);
    EXPECT_FALSE(found.compared.contains("digests"));
    EXPECT_THAT(found.reason, ::testing::EndsWith("; not inspected: data_digest of evaluation.csv"));
  }
}

TEST(EvaluationCheck, BitsAreComparedUpToTheStepWhereClipCoefficientsDiverge) {
  const auto judged_with = [](float factor) {
    EvaluatedCell cell;
    cell.candidate.manifest["role"] = "external";
    cell.candidate.manifest["norm_order"] = "per_rank";
    for (auto& rank : cell.candidate.ranks)
      rank.steps[1].clip_coefficient = std::nextafter(*rank.steps[1].clip_coefficient, 0.0);
    for (auto& row : cell.candidate.ranks.back().evaluation)
      if (row.step == 1) row.loss *= factor;  // after that step
    return result_of(cell.judge(), "evaluation");
  };
  const CheckResult found = judged_with(1.01F);

  EXPECT_EQ(found.outcome, Outcome::incomplete) << found.reason;
  EXPECT_EQ(found.compared.at("evaluations"), 1);
  EXPECT_EQ(found.from_step, 1);
}

/// Both records' row of microbatch 1 and that of all after the second evaluation.
void change_alike(EvaluatedCell& cell, const std::function<void(EvaluationRow&, EvaluationRow&)>& change) {
  for (SyntheticRun* run : {&cell.reference, &cell.candidate}) {
    auto& rows = run->ranks.back().evaluation;
    change(rows.at(4), rows.at(5));
  }
}

TEST(EvaluationCheck, IsOfTheSameDataEveryTimeInBothRecords) {
  EvaluatedCell data;
  change_alike(data, [](auto& row, auto&) { row.data_digest = other_digest; });
  expect_evaluation_red(data, 1, 1, "evaluation.csv data_digest", "differs from the evaluation after step 0 (");

  EvaluatedCell tokens;
  change_alike(tokens, [](auto& row, auto& whole) { row.tokens += 1, whole.tokens += 1; });
  expect_evaluation_red(tokens, 1, 1, "evaluation.csv tokens", "differs from the evaluation after step 0 (");

  EvaluatedCell valid;
  change_alike(valid, [](auto& row, auto& whole) { row.valid_tokens += 1, whole.valid_tokens += 1; });
  expect_evaluation_red(valid, 1, 1, "evaluation.csv valid_tokens", "(expected 2, got 3)");
}

TEST(EvaluationCheck, StopsAtTheFirstMissingMicrobatch) {
  EvaluatedCell cell;
  for (SyntheticRun* run : {&cell.reference, &cell.candidate})
    run->manifest["evaluation"]["microbatches"] = std::numeric_limits<std::int32_t>::max();
  expect_evaluation_red(cell, 0, 2, "evaluation.csv rows", "rows of the evaluation after the step: of the reference");
}

}  // namespace
}  // namespace plumbline::testing
