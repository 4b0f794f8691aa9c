// SPDX-License-Identifier: BSD-3-Clause
// Predicates over tables: records of level full, each with one changed number, on ranks and in steps other than the
// first.
#include "harness/judge/predicates/predicates.hpp"

#include <cmath>
#include <functional>

#include "record/record_stream.hpp"
#include "tests/harness/judge/synthetic_run.hpp"
#include "tests/harness/matchers.hpp"

namespace plumbline::testing {
namespace {

using predicates::judge_alone;
using predicates::Report;

std::vector<std::string> words_of(const Report& report) {
  std::vector<std::string> all;
  for (const Finding& finding : report.findings) all.push_back(words_of(finding));
  return all;
}

const std::string layer_norm = "model.layers.1.input_layernorm.weight";  // on rank 1 of three

SyntheticPlan on_three_ranks(const std::string& optimizer = "adamw") {
  return {.stages = {{"embed_tokens", "layers.0"}, {"layers.1"}, {"norm", "lm_head"}}, .optimizer = optimizer};
}

class OneRecord : public ::testing::Test {
 protected:
  Report judge() {
    const auto folder = folder_ / std::to_string(++written_);
    write_run(run, folder);
    return judge_alone(folder);
  }

  /// Expects only this finding: its place, and the expected and recorded values.
  void expect_one(const std::string& level, const std::string& where, const std::string& numbers) {
    const Report found = judge();
    for (const Finding& finding : found.findings) {
      EXPECT_EQ(finding.level, level) << words_of(finding);
      EXPECT_THAT(words_of(finding), AllOf(StartsWith(where), EndsWith(numbers)));
    }
    EXPECT_THAT(found.findings, SizeIs(1)) << where;
  }

  void expect_none() {
    for (const Finding& finding : judge().findings) ADD_FAILURE() << words_of(finding);
  }

  StepRow& step_row(std::size_t rank, std::size_t step) { return run.ranks.at(rank).steps.at(step); }

  /// "rank-1/tensors.csv:57", the place of the row in the file.
  std::string line_of(const TensorRow& row) const { return line_in(row, &RankRecord::tensors, "tensors.csv"); }
  std::string line_of(const BoundaryRow& row) const { return line_in(row, &RankRecord::boundaries, "boundaries.csv"); }

  SyntheticRun run = synthetic_candidate(on_three_ranks());

 private:
  template <class Row>
  std::string line_in(const Row& row, std::vector<Row> RankRecord::*table, const std::string& file) const {
    for (const RankRecord& rank : run.ranks) {
      for (std::size_t i = 0; i < (rank.*table).size(); ++i) {
        if (&(rank.*table)[i] == &row)
          return "rank-" + std::to_string(rank.rank) + "/" + file + ":" + std::to_string(i + 2);
      }
    }
    throw std::logic_error("no row of this run");
  }

  TemporaryFolder folder_;
  int written_ = 0;
};

TEST_F(OneRecord, HoldsIfConsistent) {
  const Report found = judge();

  for (const Finding& finding : found.findings) ADD_FAILURE() << words_of(finding);
  EXPECT_THAT(found.not_judged, IsEmpty());
  EXPECT_EQ(found.judged.at("crossings"), 2 * 2 * synthetic_microbatches * synthetic_steps);  // cuts, directions
}

TEST_F(OneRecord, ANormThatDoesNotFollowFromTheGradientsFailsOnce) {
  tensor_row(run, 1, "gradient", layer_norm).l2 *= 1 + 1e-7;  // in the norm: 1e-7 / 20, above 1e-10

  expect_one(predicates::part::norm, "rank-0/steps.csv:3: step 1, rank 0, gradient_norm: ", ", got 0.5)");
}

TEST_F(OneRecord, ANormMayDifferByTheRoundingOfDoubles) {
  for (const std::size_t rank : {0U, 1U, 2U}) *step_row(rank, 1).gradient_norm *= 1 + 0.9e-10;

  expect_none();
}

TEST_F(OneRecord, ANonFiniteNormOfFiniteGradientsFails) {
  for (const std::size_t rank : {0U, 1U, 2U}) step_row(rank, 1).gradient_norm = INFINITY;

  EXPECT_THAT(words_of(judge()), Contains(HasSubstr("gradient_norm: it is not the root of the sum of l2")));
}

TEST_F(OneRecord, TheNormOfNonFiniteGradientsIsNotChecked) {
  TensorRow& gradient = tensor_row(run, 1, "gradient", layer_norm);
  gradient.l2 = NAN;
  gradient.nan = 1;
  for (const std::size_t rank : {0U, 1U, 2U}) step_row(rank, 1).gradient_norm = NAN;

  EXPECT_THAT(words_of(judge()), Not(Contains(HasSubstr("gradient_norm: it is not the root"))));
}

TEST_F(OneRecord, AMissingLossMakesNoSum) {
  for (MicrobatchRow& row : run.ranks[2].microbatches) {
    if (row.step == 1 && row.microbatch == 3) row.loss.reset();  // which the loss check reports
  }

  expect_none();
}

TEST_F(OneRecord, AnExternalCoefficientMayBeRoundedInItsDtype) {
  run.manifest["role"] = "external";
  run.manifest["norm_order"] = "per_rank";
  run.manifest["clip_epsilon"] = 1e-3;
  const auto with_coefficient = [&](double coefficient) {
    for (RankRecord& rank : run.ranks) rank.steps[0].clip_coefficient = coefficient;
  };
  for (const double right : {1 / 2.001, static_cast<double>(1 / 2.001F)}) {
    with_coefficient(right);
    expect_none();
  }
  with_coefficient(0.5);  // without the epsilon

  EXPECT_THAT(judge().findings, SizeIs(3)) << "one for each rank";
}

class ChangedCrossing : public OneRecord {
 protected:
  /// From stage 1 to stage 2 or back.
  BoundaryRow& row(const std::string& direction, const std::string& side) {
    return boundary_row(run, 1, 3, direction, "norm", side);
  }
};

TEST_F(ChangedCrossing, FailsWhereTheTensorArrives) {
  for (const auto& [direction, level] : {std::pair{std::string("forward"), predicates::part::forward},
                                         std::pair{std::string("backward"), predicates::part::backward}}) {
    run = synthetic_candidate(on_three_ranks());
    BoundaryRow& received = row(direction, "receive");
    const std::string sent = received.digest, rank = direction == "forward" ? "2" : "1";
    received.digest = other_digest;

    expect_one(level,
               line_of(received) + ": step 1, microbatch 3, rank " + rank + ", " + direction +
                   " boundary norm, side receive: the received tensor differs from the sent one",
               "(expected " + sent + ", got " + other_digest + ")");
  }
}

TEST_F(OneRecord, CopiesOfATiedWeightAreEqualInEveryKindAndStep) {
  for (const char* kind : {"gradient", "parameter", "moment1", "moment2"}) {
    run = synthetic_candidate(on_three_ranks());
    TensorRow& copy = tensor_row(run, 1, kind, head_weight);
    const std::string first = copy.digest;
    copy.digest = other_digest;

    const bool gradient = std::string(kind) == "gradient";
    expect_one(gradient ? predicates::part::gradient : predicates::part::parameter,
               line_of(copy) + ": step 1, stage 2, rank 2, " + kind + " " + head_weight +
                   ": it is tied to model.embed_tokens.weight but has different bits",
               "(expected " + first + ", got " + other_digest + ")");
  }
  run.manifest["machine"]["gpus"] = {"A100", "H100"};  // each model rounds in its own way
  expect_none();
}

TEST_F(OneRecord, NamesNumbersMissingAtItsLevel) {
  run.manifest["level"] = "none";
  const Report none = judge();
  EXPECT_THAT(none.findings, IsEmpty());
  EXPECT_THAT(none.judged, IsEmpty());
  EXPECT_THAT(none.not_judged, ElementsAre("all numbers (a record of level none has none)"));

  run.manifest["level"] = "summary";
  step_row(1, 1).clip_coefficient = 0.75;
  const Report summary = judge();
  EXPECT_THAT(words_of(summary), ElementsAre(StartsWith("rank-1/steps.csv:3: ")));
  EXPECT_THAT(summary.not_judged, ElementsAre("tensors (a record of level summary has none)"));
}

TEST_F(OneRecord, IsNotJudgedIfARankFailed) {
  for (RankRecord& rank : run.ranks) rank.exit->status = "error", rank.exit->code = 1;
  run.ranks[1].exit.reset();

  const Report report = judge();

  EXPECT_THAT(words_of(report),
              ElementsAre(AllOf(StartsWith("rank-0/exit.json: step 0, rank 0, status: "), HasSubstr("got error")),
                          HasSubstr("(expected ok, got no file)"), HasSubstr("got error")));
  EXPECT_THAT(report.judged, IsEmpty());
  EXPECT_THAT(report.not_judged, ElementsAre("all numbers (the run did not complete)"));
}

TEST_F(OneRecord, NamesWhatCannotBeJudgedOfAnExternalTrainer) {
  run.manifest["role"] = "external";
  run.manifest["clip_norm"] = nullptr;
  run.manifest.erase("learning_rate_schedule");
  EXPECT_THAT(judge().not_judged, ElementsAre(HasSubstr("learning rates"), HasSubstr("gradient norms against l2")));
}

TEST_F(OneRecord, ReadFromALaterStepStillNamesLinesOfTheFiles) {
  BoundaryRow& received = boundary_row(run, 1, 3, "forward", "norm", "receive");
  received.digest = other_digest;
  step_row(1, 1).tokens = 12;
  const std::string boundary = line_of(received);
  TemporaryFolder folder;
  write_run(run, folder / "record");
  RecordStream stream(folder / "record", 1);
  predicates::Predicates later(stream.record(), /*alone=*/true);
  for (std::optional<std::int64_t> step = -1; step; step = stream.next_step()) {
    stream.go_to(*step);
    later.step(*step);
  }

  const Report report = later.conclude();

  EXPECT_THAT(words_of(report), ElementsAre(StartsWith("rank-1/steps.csv:3: "), StartsWith(boundary + ": ")));
}

struct Impossible {
  std::string name;
  std::function<void(SyntheticRun&)> change;
  std::string where, what;
};

void PrintTo(const Impossible& number, std::ostream* out) {
  *out << number.name;
}

class ImpossibleNumber : public OneRecord, public ::testing::WithParamInterface<Impossible> {};

constexpr auto first_of_step_1 = static_cast<std::size_t>(synthetic_microbatches);

INSTANTIATE_TEST_SUITE_P(
    , ImpossibleNumber,
    ::testing::Values(
        Impossible{"negative", [](SyntheticRun& run) { run.ranks[2].microbatches[first_of_step_1].loss = -0.6F; },
                   "rank-2/microbatches.csv:7: step 1, microbatch 0, rank 2, loss: a sum of cross-entropies cannot "
                   "have this value",
                   "is never below 0, got -0.6)"},
        Impossible{"masked", [](SyntheticRun& run) { run.ranks[2].microbatches[first_of_step_1 + 4].loss = 0.5F; },
                   "rank-2/microbatches.csv:11: step 1, microbatch 4, rank 2, loss: a sum of cross-entropies cannot "
                   "have this value",
                   "(expected 0, without a valid token, got 0.5)"},
        Impossible{"no_number", [](SyntheticRun& run) { run.ranks[2].microbatches[first_of_step_1].loss = NAN; },
                   "rank-2/microbatches.csv:7: step 1, microbatch 0, rank 2, loss: not finite", "got nan)"},
        Impossible{"loss", [](SyntheticRun& run) { run.ranks[2].steps[1].loss = INFINITY; },
                   "rank-2/steps.csv:3: step 1, rank 2, loss: not finite", "got inf)"},
        Impossible{"norm", [](SyntheticRun& run) { run.ranks[1].steps[1].gradient_norm = INFINITY; },
                   "rank-1/steps.csv:3: step 1, rank 1, gradient_norm: not finite", "got inf)"},
        Impossible{"tensor", [](SyntheticRun& run) { tensor_row(run, 1, "moment1", layer_norm).nan = 3; },
                   "rank-1/tensors.csv:", "not finite (expected finite values, got 3 NaN and 0 infinite)"},
        Impossible{"evaluation",
                   [](SyntheticRun& run) {
                     run.manifest["evaluation"] = {{"every", 0}, {"microbatches", 1}};
                     run.ranks[2].evaluation = {{1, 0, 7, 7, NAN, other_digest}, {1, std::nullopt, 7, 7, 1.5F, ""}};
                   },
                   "rank-2/evaluation.csv:2: step 1, microbatch 0, rank 2, loss: not finite", "got nan)"}),
    [](const auto& tested) { return tested.param.name; });

TEST_P(ImpossibleNumber, FailsOnceAndOnlyInOneCheckOfAComparison) {
  GetParam().change(run);
  const auto impossible = AllOf(StartsWith(GetParam().where), EndsWith(GetParam().what));

  EXPECT_THAT(words_of(judge()), Contains(impossible).Times(1));

  TemporaryFolder folder;
  write_run(run, folder / "record");
  RecordStream stream(folder / "record");
  predicates::Predicates of_two(stream.record(), /*alone=*/false);
  for (std::optional<std::int64_t> step = -1; step; step = stream.next_step()) {
    stream.go_to(*step);
    of_two.step(*step);
  }
  EXPECT_THAT(words_of(of_two.conclude()), Not(Contains(impossible)));
}

TEST_F(OneRecord, ConsequencesOfAnImpossibleStepAreNotRepeated) {
  for (StepRow& row : run.ranks[2].steps) row.loss = INFINITY;

  EXPECT_THAT(words_of(judge()), Contains(HasSubstr("loss: not finite")).Times(1));
}

}  // namespace
}  // namespace plumbline::testing
