// SPDX-License-Identifier: BSD-3-Clause
// Recomputation from tables alone: records of level full, each with one changed number that no dumped value could show,
// on ranks and in steps other than the first.
#include <cmath>
#include <functional>

#include "support/numbers.hpp"
#include "tests/harness/judge/audit/audited_values.hpp"

namespace plumbline::testing {
namespace {

using ::testing::ElementsAre;

const std::string layer_norm = "model.layers.1.input_layernorm.weight";  // on rank 1 of three

SyntheticPlan on_three_ranks(const std::string& optimizer = "adamw") {
  return {.stages = {{"embed_tokens", "layers.0"}, {"layers.1"}, {"norm", "lm_head"}}, .optimizer = optimizer};
}

class AuditedTables : public ::testing::Test {
 protected:
  Audit audit() {
    const auto folder = folder_ / std::to_string(++written_);
    write_run(run, folder);
    return audit_record(folder);
  }

  /// Expects only this finding: its place, and the expected and recorded values.
  void expect_one(const std::string& level, const std::string& where, const std::string& numbers) {
    const Audit found = audit();
    for (const Finding& finding : found.findings) {
      EXPECT_EQ(finding.level, level) << words_of(finding);
      EXPECT_THAT(words_of(finding), AllOf(StartsWith(where), EndsWith(numbers)));
    }
    EXPECT_THAT(found.findings, SizeIs(1)) << where;
  }

  void expect_none() {
    for (const Finding& finding : audit().findings) ADD_FAILURE() << words_of(finding);
  }

  StepRow& step_row(std::size_t rank, std::size_t step) { return run.ranks.at(rank).steps.at(step); }

  /// "rank-1/tensors.csv:57", where the row will stand.
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

TEST_F(AuditedTables, OfARightRunHoldAndSayWhatTheyCannotShow) {
  const Audit found = audit();

  for (const Finding& finding : found.findings) ADD_FAILURE() << words_of(finding);
  EXPECT_THAT(found.not_audited, ::testing::ElementsAre(HasSubstr("a record of level full holds none")));
  EXPECT_FALSE(found.from_values);
  EXPECT_EQ(found.recomputed.at("crossings"), 2 * 2 * synthetic_microbatches * synthetic_steps);  // cuts, directions
}

TEST_F(AuditedTables, ANormThatIsNotThatOfTheGradientsIsRedOnce) {
  tensor_row(run, 1, "gradient", layer_norm).l2 *= 1 + 1e-7;  // in the norm: 1e-7 / 20, above 1e-10

  expect_one(auditing::part::norm, "rank-0/steps.csv:3: step 1, rank 0, gradient_norm: ", ", got 0.5)");
}

TEST_F(AuditedTables, ANormMayBeOffByWhatSumsInDoubleAre) {
  for (const std::size_t rank : {0U, 1U, 2U}) *step_row(rank, 1).gradient_norm *= 1 + 0.9e-10;

  expect_none();
}

TEST_F(AuditedTables, ANormThatIsNotFiniteThoughItsGradientsAreIsNotTheirs) {
  for (const std::size_t rank : {0U, 1U, 2U}) step_row(rank, 1).gradient_norm = INFINITY;

  EXPECT_THAT(words_of(audit()), Contains(HasSubstr("gradient_norm: it is not the root of the sum of l2")));
}

TEST_F(AuditedTables, OfGradientsThatAreNotFiniteTheNormIsNotHeldToThem) {
  TensorRow& gradient = tensor_row(run, 1, "gradient", layer_norm);
  gradient.l2 = NAN;
  gradient.nan = 1;
  for (const std::size_t rank : {0U, 1U, 2U}) step_row(rank, 1).gradient_norm = NAN;

  EXPECT_THAT(words_of(audit()), Not(Contains(HasSubstr("gradient_norm: it is not the root"))));
}

struct StepCell {
  std::string name;
  std::function<void(StepRow&)> change;
  std::string level;
  std::string item, numbers;  ///< of step 1 on rank 2, which has the loss
};

void PrintTo(const StepCell& cell, std::ostream* out) {
  *out << cell.name;
}

class AuditedStepRow : public AuditedTables, public ::testing::WithParamInterface<StepCell> {};

INSTANTIATE_TEST_SUITE_P(
    , AuditedStepRow,
    ::testing::Values(StepCell{"coefficient", [](StepRow& row) { row.clip_coefficient = 0.75; }, auditing::part::norm,
                               "clip_coefficient: it is not min", "(expected 1, got 0.75)"},
                      StepCell{"no_coefficient", [](StepRow& row) { row.clip_coefficient.reset(); },
                               auditing::part::norm, "clip_coefficient: ", "(expected 1, got absent)"},
                      StepCell{"norm", [](StepRow& row) { row.gradient_norm = 0.25; }, auditing::part::norm,
                               "gradient_norm: other ranks have another", "(expected 0.5, got 0.25)"},
                      StepCell{"no_norm", [](StepRow& row) { row.gradient_norm.reset(); }, auditing::part::norm,
                               "gradient_norm: every rank", "(expected a norm, got absent)"},
                      StepCell{"rate", [](StepRow& row) { row.learning_rate = 0.5; }, auditing::part::learning_rate,
                               "learning_rate: it is not the rate", "(expected 0.001, got 0.5)"},
                      StepCell{"no_rate", [](StepRow& row) { row.learning_rate.reset(); },
                               auditing::part::learning_rate, "learning_rate: ", "(expected 0.001, got absent)"},
                      StepCell{"tokens", [](StepRow& row) { row.tokens = 14; }, auditing::part::data,
                               "tokens: it is not the sum", "(expected 13, got 14)"},
                      StepCell{"valid_tokens", [](StepRow& row) { row.valid_tokens = 9; }, auditing::part::data,
                               "valid_tokens: it is not the", "(expected 10, got 9)"},
                      StepCell{"loss", [](StepRow& row) { row.loss = 0.5F; }, auditing::part::loss,
                               "loss: it is not the sum", "got 0.5)"}),
    [](const auto& tested) { return tested.param.name; });

TEST_P(AuditedStepRow, IsRedInItsLineAndNowhereElse) {
  GetParam().change(step_row(2, 1));

  expect_one(GetParam().level, "rank-2/steps.csv:3: step 1, rank 2, " + GetParam().item, GetParam().numbers);
}

TEST_F(AuditedTables, AMicrobatchWithoutALossMakesNoSum) {
  for (MicrobatchRow& row : run.ranks[2].microbatches) {
    if (row.step == 1 && row.microbatch == 3) row.loss.reset();  // which the check of losses tells
  }

  expect_none();
}

TEST_F(AuditedTables, OfAnotherTrainerACoefficientMayBeRoundedAsItIsComputed) {
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

  EXPECT_THAT(audit().findings, SizeIs(3)) << "one on each rank";
}

TEST_F(AuditedTables, AMomentOfTheFirstStepWithoutACoefficientIsNotComputed) {
  step_row(0, 0).clip_coefficient.reset();

  expect_one(auditing::part::norm, "rank-0/steps.csv:2: step 0, rank 0, clip_coefficient",
             "(expected 0.5, got absent)");

  step_row(0, 0).clip_coefficient = std::nan("");
  expect_one(auditing::part::norm, "rank-0/steps.csv:2: step 0, rank 0, clip_coefficient", "(expected 0.5, got nan)");
}

/// How far the l2 of a moment may be off after the first step, in shares of itself: twice the roundings of storing and
/// computing, of float32 for what is recorded in it, and the norms' own 1e-10.
struct MomentOf {
  std::string dtype;
  double share;
};

void PrintTo(const MomentOf& moment, std::ostream* out) {
  *out << moment.dtype;
}

class AuditedMoment : public AuditedTables, public ::testing::WithParamInterface<MomentOf> {};

INSTANTIATE_TEST_SUITE_P(, AuditedMoment,
                         ::testing::Values(MomentOf{"float32", 2 * (15 * 0x1p-24 + 1e-10)},
                                           MomentOf{"bfloat16", 2 * (12 * 0x1p-24 + 3 * 0x1p-8 + 1e-10)},
                                           MomentOf{"float64", 2 * (11 * 0x1p-53 + 4 * 0x1p-24 + 1e-10)}),
                         [](const auto& tested) { return tested.param.dtype; });

TEST_P(AuditedMoment, OfTheFirstStepMayBeOffByRoundingAndNoMore) {
  TensorRow& row = tensor_row(run, 0, "moment1", layer_norm);
  row.dtype = GetParam().dtype;
  const double right = row.l2;
  for (const double sign : {1.0, -1.0}) {
    row.l2 = right * (1 + sign * 0.99 * GetParam().share);
    expect_none();
    row.l2 = right * (1 + sign * 1.01 * GetParam().share);
    expect_one(auditing::part::parameter,
               line_of(row) + ": step 0, stage 1, rank 1, l2 of moment1 " + layer_norm + ": ",
               ", got " + to_text(row.l2) + ")");
  }
}

TEST_F(AuditedTables, TheLargestOfAMomentFollowsFromTheGradientsLargest) {
  TensorRow& first = tensor_row(run, 0, "moment1", layer_norm);
  first.max_abs *= 1.00001F;
  expect_one(auditing::part::parameter, line_of(first) + ": step 0, stage 1, rank 1, max_abs of moment1 ",
             ", got " + to_text(static_cast<double>(first.max_abs)) + ")");

  first.max_abs = tensor_row(run, 0, "moment1", "model.norm.weight").max_abs;
  TensorRow& second = tensor_row(run, 0, "moment2", layer_norm);
  second.max_abs *= 1.00001F;
  expect_one(auditing::part::parameter, line_of(second) + ": step 0, stage 1, rank 1, max_abs of moment2 ",
             ", got " + to_text(static_cast<double>(second.max_abs)) + ")");
}

TEST_F(AuditedTables, MomentsOfLaterStepsAreLeftToTheValues) {
  tensor_row(run, 1, "moment1", layer_norm).l2 = 2;
  tensor_row(run, 1, "moment2", layer_norm).max_abs = 2;

  expect_none();
}

TEST_F(AuditedTables, WhatIsNotFiniteMakesNoMoment) {
  for (const auto count : {&TensorRow::nan, &TensorRow::inf}) {
    for (const char* kind : {"gradient", "moment1"}) {
      run = synthetic_candidate(on_three_ranks());
      tensor_row(run, 0, "moment1", layer_norm).l2 = 2;
      tensor_row(run, 0, kind, layer_norm).*count = 1;

      EXPECT_THAT(words_of(audit()), ElementsAre(HasSubstr(kind + (" " + layer_norm) + ": not finite")));
    }
  }
}

TEST_F(AuditedTables, AMomentWithoutAGradientIsNotComputed) {
  const double lost = tensor_row(run, 0, "gradient", layer_norm).l2;
  std::erase_if(run.ranks[1].tensors,
                [](const auto& row) { return row.step == 0 && row.kind == "gradient" && row.name == layer_norm; });
  const double norm = std::sqrt(4.0 - lost * lost);
  for (RankRecord& rank : run.ranks) rank.steps[0].gradient_norm = norm, rank.steps[0].clip_coefficient = 1 / norm;
  // All others are now clipped otherwise; this one's moment is nobody's.
  tensor_row(run, 0, "moment1", layer_norm).l2 = 2;

  const Audit found = audit();

  EXPECT_THAT(found.findings, Not(IsEmpty()));
  for (const Finding& finding : found.findings) EXPECT_THAT(finding.item, Not(HasSubstr(layer_norm)));
}

class AuditedSgdMoment : public AuditedTables {
 protected:
  AuditedSgdMoment() {
    run = synthetic_candidate(on_three_ranks("sgd"));
    run.manifest["optimizer"]["weight_decay"] = 0.125;  // of parameters with l2 1 and max_abs 0.5
  }
};

TEST_F(AuditedSgdMoment, MayBeOffByTheDecayedParameterAndNoMore) {
  TensorRow& row = tensor_row(run, 0, "moment1", layer_norm);
  const double right = row.l2;
  const std::string where = line_of(row) + ": step 0, stage 1, rank 1, ";

  row.l2 = right + 0.1249;
  expect_none();
  row.l2 = right - 0.1251;
  expect_one(auditing::part::parameter, where + "l2 of moment1", " within 0.125, got " + to_text(row.l2) + ")");

  row.l2 = right;
  row.max_abs = static_cast<float>(right / 2 + 0.0624);
  expect_none();
  row.max_abs = static_cast<float>(right / 2 + 0.0626);
  expect_one(auditing::part::parameter, where + "max_abs of moment1",
             " within 0.0625, got " + to_text(static_cast<double>(row.max_abs)) + ")");
}

TEST_F(AuditedSgdMoment, OfAnUndecayedNormFollowsFromItsGradientAlone) {
  TensorRow& row = tensor_row(run, 0, "moment1", layer_norm);
  run.manifest["optimizer"]["decay"] = "matrices";
  row.l2 *= 1.0001;

  const Audit found = audit();

  ASSERT_THAT(found.findings, SizeIs(1));
  EXPECT_THAT(found.findings[0].expected, Not(HasSubstr("within")));
}

class AuditedCrossing : public AuditedTables {
 protected:
  /// From stage 1 to stage 2 or back.
  BoundaryRow& row(const std::string& direction, const std::string& side) {
    return boundary_row(run, 1, 3, direction, "norm", side);
  }
};

TEST_F(AuditedCrossing, ThatChangesItsTensorIsRedWhereItArrives) {
  for (const auto& [direction, level] : {std::pair{std::string("forward"), auditing::part::forward},
                                         std::pair{std::string("backward"), auditing::part::backward}}) {
    run = synthetic_candidate(on_three_ranks());
    BoundaryRow& received = row(direction, "receive");
    const std::string sent = received.digest, rank = direction == "forward" ? "2" : "1";
    received.digest = other_digest;

    expect_one(level,
               line_of(received) + ": step 1, microbatch 3, rank " + rank + ", " + direction +
                   " boundary norm, side receive: what was received is not what was sent",
               "(expected " + sent + ", got " + other_digest + ")");
  }
}

TEST_F(AuditedCrossing, WithoutOneOfItsEndsIsRedAtTheOther) {
  struct Case {
    std::string direction, gone, left, level, why, expected;
  };
  for (const auto& [direction, gone, left, level, why, expected] :
       {Case{"forward", "receive", "send", auditing::part::forward, "no rank rec", "(expected a receive, got none)"},
        Case{"backward", "send", "receive", auditing::part::backward, "no rank sent", "(expected a send, got none)"}}) {
    run = synthetic_candidate(on_three_ranks());
    const std::string line = line_of(row(direction, left));
    const BoundaryRow erased = row(direction, gone);
    std::erase_if(run.ranks[2].boundaries, [&](const auto& each) {
      return each.step == erased.step && each.microbatch == erased.microbatch && each.direction == erased.direction;
    });
    expect_one(level,
               line + ": step 1, microbatch 3, rank 1, " + direction + " boundary norm, side " + left + ": " + why,
               expected);
  }
}

TEST_F(AuditedTables, CopiesOfATiedWeightAreEqualInEveryKindAndStep) {
  for (const char* kind : {"gradient", "parameter", "moment1", "moment2"}) {
    run = synthetic_candidate(on_three_ranks());
    TensorRow& copy = tensor_row(run, 1, kind, head_weight);
    const std::string first = copy.digest;
    copy.digest = other_digest;

    const bool gradient = std::string(kind) == "gradient";
    expect_one(gradient ? auditing::part::gradient : auditing::part::parameter,
               line_of(copy) + ": step 1, stage 2, rank 2, " + kind + " " + head_weight +
                   ": it is tied to model.embed_tokens.weight and has other bits",
               "(expected " + first + ", got " + other_digest + ")");
  }
  run.manifest["machine"]["gpus"] = {"A100", "H100"};  // each rounds its own
  expect_none();
}

TEST_F(AuditedTables, ATensorThatTheStepMovesHasOtherBitsThanBefore) {
  for (const std::string optimizer : {"adamw", "sgd"}) {
    for (const std::string kind : {"moment1", "moment2", "parameter"}) {
      if (optimizer == "sgd" && kind == "moment2") continue;
      run = synthetic_candidate(on_three_ranks(optimizer));
      TensorRow& row = tensor_row(run, 1, kind, layer_norm);
      row.digest = tensor_row(run, 0, kind, layer_norm).digest;

      expect_one(auditing::part::parameter,
                 line_of(row) + ": step 1, stage 1, rank 1, " + kind + " " + layer_norm + ": ",
                 "(expected bits that differ from those after the step before, got the same)");
    }
  }
}

TEST_F(AuditedTables, AParameterMayStayWhereItsUpdateIsLostInRounding) {
  run = synthetic_candidate(on_three_ranks("sgd"));
  TensorRow& row = tensor_row(run, 1, "parameter", layer_norm);
  row.digest = tensor_row(run, 0, "parameter", layer_norm).digest;
  TensorRow& buffer = tensor_row(run, 1, "moment1", layer_norm);

  buffer.l2 = 1e-3, buffer.max_abs = 1e-3F;  // times the rate of 0.001, unknown_part a parameter of size 1
  expect_none();
  buffer.l2 = 1e-2, buffer.max_abs = 1e-2F;
  expect_one(auditing::part::parameter, line_of(row), "got the same)");
}

TEST_F(AuditedTables, AParameterMayStayWhereDecayMayUndoItsUpdate) {
  for (const double decay : {0.0, 10.0}) {
    run = synthetic_candidate(on_three_ranks());
    run.manifest["optimizer"]["weight_decay"] = decay;
    TensorRow& row = tensor_row(run, 1, "parameter", layer_norm);
    row.digest = tensor_row(run, 0, "parameter", layer_norm).digest;

    EXPECT_THAT(audit().findings, SizeIs(decay == 0 ? 1 : 0));
  }
}

TEST_F(AuditedTables, AParameterOfSgdWithoutMomentumMovesByItsGradient) {
  run = synthetic_candidate(on_three_ranks("sgd"));
  run.manifest["optimizer"]["momentum"] = 0.0;
  run.erase(&RankRecord::tensors, [](const auto& row) { return row.kind == "moment1"; });
  TensorRow& row = tensor_row(run, 1, "parameter", layer_norm);
  row.digest = tensor_row(run, 0, "parameter", layer_norm).digest;

  expect_one(auditing::part::parameter, line_of(row), "got the same)");
  run.manifest["role"] = "external";  // whose l2 may be anything
  expect_none();
}

}  // namespace
}  // namespace plumbline::testing
