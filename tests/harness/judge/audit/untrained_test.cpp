// SPDX-License-Identifier: BSD-3-Clause
// Parameters without a gradient in all or some steps.
#include "tests/harness/judge/audit/audited_values.hpp"

namespace plumbline::testing {
namespace {

/// Whatever the optimiser keeps of others, of a parameter without gradient it keeps nothing.
class Untrained : public AuditedValues, public ::testing::WithParamInterface<const char*> {
 protected:
  Untrained() {
    const bool plain = std::string(GetParam()) == "sgd_without_momentum";
    trained.run = synthetic_candidate(trained_plan(plain ? "sgd" : GetParam(), false));
    trained.untrained = {norm_weight};
    if (!plain) return;
    trained.run.manifest["optimizer"]["momentum"] = 0.0;
    trained.run.erase(&RankRecord::tensors, [](const auto& row) { return row.kind == "moment1"; });
  }
  void freeze() { trained.run.manifest["frozen"] = {norm_weight}; }
  void external() { trained.run.manifest["role"] = "external"; }
  std::string line() { return line_of(trained.run, tensor_row(trained.run, 0, "parameter", norm_weight)); }
};

INSTANTIATE_TEST_SUITE_P(, Untrained, ::testing::Values("sgd_without_momentum", "sgd", "adamw"),
                         [](const auto& tested) { return std::string(tested.param); });

TEST_P(Untrained, FrozenIsWhatItWas) {
  freeze();

  expect_none(write());
}

TEST_P(Untrained, FrozenAndMovedIsRedWhereItMoved) {
  freeze();
  trained.mistake = Mistake::untrained_moves;
  for (const bool of_another : {false, true}) {
    if (of_another) external();

    expect_one(write(), auditing::part::parameter,
               "rank-1/dumps/step-1.safetensors: step 1, stage 1, rank 1, parameter model.norm.weight, element 3: it "
               "is frozen, but changed, in 1 of 4 elements",
               "(expected 1, got 1.25)");
  }
}

TEST_P(Untrained, WithoutAGradientAndNotFrozenIsRedInEachStep) {
  const Audit found = audit_record(write());

  ASSERT_THAT(found.findings, SizeIs(synthetic_steps));
  EXPECT_THAT(words_of(found.findings[0]),
              AllOf(StartsWith(line() + ": step 0, stage 1, rank 1, parameter model.norm.weight: how it was updated"),
                    EndsWith("(expected a gradient, or its name in `frozen`, got neither)")));
}

/// One that no loss of the step depends on is passed over by others' optimisers.
TEST_P(Untrained, OfAnotherTrainerMayStayWithoutAGradient) {
  external();

  expect_none(write());
}

TEST_P(Untrained, OfAnotherTrainerMayNotMoveWithoutAGradient) {
  external();
  trained.mistake = Mistake::untrained_moves;

  const Audit found = audit_record(write());

  EXPECT_THAT(found.findings, Contains(AllOf(Field(&Finding::step, 1), Field(&Finding::got, "neither"))));
  EXPECT_THAT(found.findings, Each(Field(&Finding::step, 1)));
}

/// A parameter of another trainer that has no gradient in one of the two steps.
class Idle : public AuditedValues, public ::testing::WithParamInterface<const char*> {
 protected:
  Idle() {
    trained.run = synthetic_candidate(trained_plan(GetParam(), false));
    trained.run.manifest["role"] = "external";
  }
  /// Its elements, of all that were updated.
  std::int64_t updated(const Path& record) { return audit_record(record).recomputed.at("updated_elements"); }
};

INSTANTIATE_TEST_SUITE_P(, Idle, ::testing::Values("sgd", "adamw"),
                         [](const auto& tested) { return std::string(tested.param); });

TEST_P(Idle, ThenBeginsFromMomentsOfZeroByEitherCountOfItsUpdates) {
  const auto in_both = updated(write());
  trained.idle_step = 0;
  for (const bool counts : {false, true}) {
    trained.counts_idle_steps = counts;

    const auto record = write();

    expect_none(record);
    EXPECT_EQ(updated(record), in_both);
  }
}

/// In SGD's update no count acts.
TEST_P(Idle, ThenUpdatedByAThirdCountIsRedOfAdamW) {
  trained.idle_step = 0;
  trained.mistake = Mistake::count_one_more;

  const Audit found = audit_record(write());

  EXPECT_THAT(found.findings, SizeIs(std::string(GetParam()) == "adamw" ? 1 : 0));
  EXPECT_THAT(found.findings, Each(Field(&Finding::item, StartsWith("parameter model.norm.weight, element 0"))));
}

TEST_P(Idle, KeepsItsMoments) {
  trained.idle_step = 1;
  expect_none(write());
  trained.mistake = Mistake::idle_moments_move;

  const Audit found = audit_record(write());

  ASSERT_THAT(found.findings, SizeIs(std::string(GetParam()) == "adamw" ? 2 : 1));
  EXPECT_THAT(
      words_of(found.findings[0]),
      StartsWith("rank-1/dumps/step-1.safetensors: step 1, stage 1, rank 1, moment1 model.norm.weight, element 3: its "
                 "parameter has no gradient in this step, but it changed, in 1 of 4 elements"));
  EXPECT_EQ(found.findings.back().item.substr(0, 7), std::string(GetParam()) == "adamw" ? "moment2" : "moment1");
}

TEST_P(Idle, OrAStepThatTheTrainerSkippedChangesNothing) {
  for (const std::int64_t step : {0, 1}) {
    trained.skipped_step = step;
    expect_none(write());
  }
  const auto missing = with_tables(write(), [](SyntheticRun& run) { run.manifest["role"] = "pipeline"; });
  EXPECT_THAT(audit_record(missing).findings, Not(IsEmpty())) << "our own trainers skip none";

  const auto unsaid = with_tables(write(), [](SyntheticRun& run) {
    ActionRow update = run.ranks[1].actions.back();
    ++update.index;
    update.action = "1STEP";
    run.ranks[1].actions.push_back(update);
  });
  EXPECT_THAT(words_of(audit_record(unsaid)),
              AllOf(Not(IsEmpty()), Each(AllOf(HasSubstr("step 1"), HasSubstr("it does not follow from")))));
}

TEST_P(Idle, WithoutMomentsThatItMustHaveIsToldAsNotAudited) {
  const auto record = with_tables(write(), [](SyntheticRun& run) {
    std::erase_if(run.ranks[1].tensors, [](const TensorRow& row) {
      return row.step == 1 && row.kind == "moment1" && row.name == norm_weight;
    });
  });
  leave_out(record, "rank-1/dumps/step-1.safetensors", "moment1/" + norm_weight);

  const Audit found = audit_record(record);

  for (const Finding& finding : found.findings) ADD_FAILURE() << words_of(finding);
  EXPECT_THAT(found.not_audited, Contains(StartsWith("updates of parameters whose moments")));
}

}  // namespace
}  // namespace plumbline::testing
