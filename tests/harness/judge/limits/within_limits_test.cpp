// SPDX-License-Identifier: BSD-3-Clause
// Two runs whose bits differ, compared within limits: each single change must make one check fail.
#include <gmock/gmock.h>

#include <cmath>
#include <fstream>

#include "harness/commands/compare.hpp"
#include "harness/judge/limits/value_comparison.hpp"
#include "support/error.hpp"
#include "tests/harness/judge/limits/dumped_run.hpp"

namespace plumbline::testing {
namespace {

using ::testing::ContainsRegex;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::vector<std::string> failing_checks(const CellVerdict& verdict) {
  return with_outcome(verdict, Outcome::differs);
}

TEST(CalibratedTier, HoldsAlthoughBitsDiffer) {
  CalibratedCell cell;

  const auto verdict = cell.compare();

  EXPECT_TRUE(verdict.holds) << comparison_text(verdict);
  const CheckResult& gradients = result_of(verdict, "gradients");
  EXPECT_NEAR(gradients.margin.value_or(NAN), 0.5, 1e-6) << "2 ULP of 4 allowed";
  EXPECT_THAT(gradients.limit, HasSubstr("calibrated"));
  EXPECT_THAT(gradients.measured, HasSubstr("at gradient/"));
  EXPECT_THAT(gradients.reason, HasSubstr("the largest error of the reference and 20 perturbed references"));
  EXPECT_FALSE(cell.compare_in_bits().holds) << "it must not hold in bits";
}

TEST(CalibratedTier, WarnsOfAMarginAboveAHalf) {
  CalibratedCell near, beyond;
  near.candidate.other_ulps[{1, "gradient/model.norm.weight"}] = 3;
  beyond.candidate.other_ulps[{1, "gradient/model.norm.weight"}] = 5;
  const auto verdict = near.compare();
  EXPECT_TRUE(verdict.holds) << comparison_text(verdict);
  EXPECT_THAT(result_of(verdict, "gradients").reason, HasSubstr("WARNING: 1 have a margin above 0.5"));
  EXPECT_NEAR(result_of(beyond.compare(), "gradients").margin.value_or(NAN), 1.25, 1e-6);
}

TEST(CalibratedTier, OneChangeMakesOneCheckFail) {
  struct Case {
    void (*change)(DumpedRun& candidate);
    const char *check, *words = "";
  };
  const std::vector<Case> cases = {
      {[](auto& run) {
         run.other_ulps[{1, "gradient/model.norm.weight"}] = 5;
       },
       "gradients", "gradient model.norm.weight"},
      // nearer to the truth than the sent tensor
      {[](auto& run) {
         run.other_ulps[{0, "boundary/forward/2/layers.1/receive"}] = 1;
       },
       "boundaries", "the bits differ as received"},
      {[](auto& run) {
         run.with_nan.insert({0, "moment1/model.norm.weight"});
       },
       "parameters"},  // no table contains it
      {[](auto& run) {
         run.with_other_digest.insert({1, "gradient/model.norm.weight"});
       },
       "gradients", "is not the tensor of its table"},
      {[](auto& run) { *run.run.ranks.back().microbatches.at(synthetic_microbatches + 1).loss *= 1.00001F; }, "loss"},
      {[](auto& run) { run.run.ranks.back().microbatches.at(4).loss = 1e-30F; }, "loss"},  // fully masked, so exactly 0
      {[](auto& run) {
         for (auto& rank : run.run.ranks)
           rank.steps[0].gradient_norm = 2.00001, rank.steps[0].clip_coefficient = 1.0 / 2.00001;
       },
       "gradient_norm"},
      // Every rank has the same norm and the coefficient computed from it.
      {[](auto& run) { run.run.ranks[1].steps[0].gradient_norm = std::nextafter(2.0, 3.0); }, "gradient_norm"},
      {[](auto& run) { run.run.ranks[0].steps[0].clip_coefficient = std::nextafter(0.5, 1.0); }, "gradient_norm"}};
  for (const auto& [change, check, words] : cases) {
    CalibratedCell cell;
    change(cell.candidate);
    const auto verdict = cell.compare();
    EXPECT_THAT(failing_checks(verdict), ElementsAre(check)) << words;
    EXPECT_THAT(result_of(verdict, check).reason, HasSubstr(words));
  }
}

/// An evaluation after step 1: one microbatch and the sum. The error is 1 ULP in the reference, `ulps` in the
/// candidate.
void add_evaluation(CalibratedCell& cell, int ulps) {
  const auto add = [](SyntheticRun& run, int off) {
    run.manifest["evaluation"] = {{"every", 2}, {"microbatches", 1}};
    const float loss = 1.5F + static_cast<float>(off) * 0x1p-23F;
    run.ranks.back().evaluation = {{1, 0, 7, 7, loss, std::string(32, 'a')}, {1, std::nullopt, 7, 7, loss, ""}};
  };
  add(cell.shadow.run, 0);
  add(cell.reference.run, 1);
  add(cell.candidate.run, ulps);
}

TEST(CalibratedTier, EvaluationsHaveLimitsToo) {
  CalibratedCell within, beyond;
  add_evaluation(within, 2);
  add_evaluation(beyond, 5);

  const auto holds = within.compare();
  EXPECT_TRUE(holds.holds) << comparison_text(holds);
  EXPECT_NEAR(result_of(holds, "evaluation").margin.value_or(NAN), 0.5, 1e-6);
  EXPECT_THAT(failing_checks(within.compare_in_bits()), ::testing::Contains("evaluation"));
  EXPECT_THAT(failing_checks(beyond.compare()), ElementsAre("evaluation"));
}

TEST(CalibratedTier, AnUncalibratedEvaluationIsReported) {
  CalibratedCell cell;
  add_evaluation(cell, 2);

  const auto verdict = cell.compare([](judging::Calibration& calibration) {
    std::erase_if(calibration.limits, [](const auto& each) { return each.first.name.starts_with("evaluation"); });
  });

  EXPECT_FALSE(verdict.holds);
  EXPECT_THAT(comparison_text(verdict), HasSubstr("the calibration lacks a limit for evaluation at step 1"));
}

TEST(CalibratedTier, TheStartIsTheSameInBits) {
  CalibratedCell cell;
  tensor_row(cell.candidate.run, -1, "parameter", "model.norm.weight").digest = other_digest;

  const auto verdict = cell.compare();

  EXPECT_THAT(failing_checks(verdict), ElementsAre("parameters"));
  EXPECT_THAT(result_of(verdict, "gradients").reason, HasSubstr("step-initial.safetensors"));
}

TEST(CalibratedTier, StructureStaysExact) {
  CalibratedCell missing, extra, tied;
  auto& rows = missing.candidate.run.ranks[0].tensors;
  std::erase_if(rows, [](const TensorRow& row) { return row.step == 1 && row.kind == "gradient"; });
  extra.candidate.run.ranks[0].tensors.push_back(tensor_row(extra.candidate.run, 0, "gradient", "model.norm.weight"));
  extra.candidate.run.ranks[0].tensors.back().stage = 0;
  tied.candidate.other_ulps[{0, "parameter/lm_head.weight"}] = 1;  // within its limit, but not equal to the embedding

  EXPECT_FALSE(missing.compare().holds);
  EXPECT_FALSE(extra.compare().holds);
  EXPECT_THAT(failing_checks(tied.compare()), ElementsAre("tied_weights"));
}

TEST(CalibratedTier, NeedsADump) {
  CalibratedCell cell, whole;
  cell.candidate.not_dumped.insert({1, "gradient/model.norm.weight"});
  whole.candidate.run.manifest["level"] = "full";

  EXPECT_THAT(failing_checks(cell.compare()), ElementsAre("gradients"));
  EXPECT_THAT(error_of<InputError>([&] { whole.compare(); }), HasSubstr("has level full"));
}

TEST(CalibratedTier, ADamagedFloat64ReferenceIsNotTheCandidatesFailure) {
  for (const bool missing : {true, false}) {
    CalibratedCell cell;
    cell.compare();
    (missing ? cell.shadow.not_dumped : cell.shadow.with_other_digest).insert({1, "gradient/model.norm.weight"});
    std::filesystem::remove_all(cell.folder / "shadow");
    cell.shadow.write(cell.folder / "shadow");

    const auto verdict = cell.judge(cell.folder / "calibration.json");

    EXPECT_FALSE(verdict.holds);
    EXPECT_THAT(failing_checks(verdict), ::testing::IsEmpty()) << comparison_text(verdict);
    EXPECT_EQ(result_of(verdict, "gradients").outcome, Outcome::incomplete);
    EXPECT_THAT(result_of(verdict, "gradients").reason, HasSubstr("the calibration's float64 reference is damaged"));
  }
}

TEST(CalibratedTier, AnItemWithoutALimitFails) {
  CalibratedCell cell;

  const auto verdict = cell.compare([](auto& calibration) { calibration.limits.erase({1, "gradient_norm"}); });

  EXPECT_THAT(failing_checks(verdict), ElementsAre("gradient_norm"));
}

TEST(CalibratedTier, OnlyAppliesToOtherDevices) {
  CalibratedCell device, steps;
  device.candidate.run = synthetic_candidate({.level = "dump", .device = "cuda"});
  device.candidate.run.manifest["machine"]["gpus"] = {"A", "B"};
  steps.candidate.run.manifest["seed"] = 2;

  const auto verdict = device.compare();

  EXPECT_TRUE(verdict.holds) << comparison_text(verdict);
  EXPECT_EQ(result_of(verdict, "memory").outcome, Outcome::holds) << result_of(verdict, "memory").reason;
  EXPECT_FALSE(device.compare_in_bits().holds);
  EXPECT_THAT(failing_checks(steps.compare()), ElementsAre("data"));
}

TEST(CalibratedTier, OtherKernelsOnlyDropTheActivationMemoryModel) {
  CalibratedCell law, state;
  for (auto* cell : {&law, &state}) {
    cell->reference.run.manifest["machine"]["cpu_vendor"] = "GenuineIntel";  // the candidate's manifest does not say
    cell->candidate.run.manifest["machine"] = {{"cpu_vendor", "GenuineIntel"}, {"cpu_model_number", 7}};
  }
  *action_row(law.candidate.run, 1, "0F2").peak_bytes += 64;
  *state.candidate.run.ranks[1].memory[0].parameter_bytes += 4;

  const auto memory = result_of(law.compare(), "memory");

  EXPECT_EQ(memory.outcome, Outcome::holds) << memory.reason;
  EXPECT_THAT(memory.reason, HasSubstr("not inspected: activation peaks: the activation memory model"));
  EXPECT_THAT(memory.reason, HasSubstr("cpu_model_number null against 7"));
  EXPECT_THAT(failing_checks(state.compare()), ElementsAre("memory"));
}

TEST(CalibratedTier, RefusesACalibrationOfAnotherRunAndNamesTheDifference) {
  CalibratedCell seed, optimizer, rate, gone, other;
  seed.shadow.run.manifest["seed"] = 7;
  optimizer.shadow.run.manifest["optimizer"]["beta2"] = 0.5;
  rate.shadow.run.ranks[0].steps[1].learning_rate = 0.5;

  EXPECT_THAT(error_of<InputError>([&] { seed.compare(); }),
              HasSubstr("seed is 7 in the calibration and 1 in the ref"));
  EXPECT_THAT(error_of<InputError>([&] { optimizer.compare(); }), HasSubstr("optimizer: beta2 is 0.5"));
  EXPECT_THAT(error_of<InputError>([&] { rate.compare(); }), HasSubstr("learning rate of step 1"));
  EXPECT_THAT(error_of<InputError>([&] { gone.compare([](auto& made) { made.shadow = "nowhere"; }); }),
              HasSubstr("the record of its float64 reference is not at"));
  EXPECT_THAT(error_of<InputError>([&] { other.compare([](auto& made) { made.shadow_run_id = "another"; }); }),
              HasSubstr("is not the float64 reference that"));
}

TEST(CalibratedTier, AFloat64ReferenceWithoutValuesIsRefused) {
  CalibratedCell cell;
  cell.shadow.run.manifest["level"] = "full";

  EXPECT_THAT(error_of<InputError>([&] { cell.compare(); }), HasSubstr("is not the float64 reference that"));
}

/// The error names the run that lacks an item.
class ErrorsOf : public ::testing::Test {
 protected:
  std::string refusal(const std::function<void(Record& run, Record& shadow)>& change = nullptr) {
    ++written_;
    Record one = read_record(run.write(folder_ / ("run" + std::to_string(written_))));
    Record truth = read_record(shadow.write(folder_ / ("shadow" + std::to_string(written_))));
    if (change) change(one, truth);
    return error_of<InputError>([&] { judging::measure_errors(one, truth); });
  }

  DumpedRun run{synthetic_reference({.level = "dump"}), 1}, shadow{synthetic_reference({.level = "dump"}), 0, true};

 private:
  TemporaryFolder folder_;
  int written_ = 0;
};

TEST_F(ErrorsOf, NameAMissingTensor) {
  const DumpedRun::Key tensor = {1, "gradient/model.norm.weight"};
  run.not_dumped.insert(tensor);
  EXPECT_THAT(refusal(), ContainsRegex("run1: lacks gradient/model.norm.weight in step-1.safetensors, which the"));

  run.not_dumped.clear();
  shadow.not_dumped.insert(tensor);
  EXPECT_THAT(refusal(), ContainsRegex("shadow2: lacks gradient/model.norm.weight in step-1.safetensors, which th"));
}

TEST_F(ErrorsOf, NameAMissingRow) {
  EXPECT_THAT(refusal([](Record& one, Record&) { one.ranks[0].microbatches.pop_back(); }),
              ContainsRegex("run1: lacks loss/[0-9]+ at step [0-9]+, which the other run"));
  EXPECT_THAT(refusal([](Record&, Record& truth) { truth.ranks[0].steps.pop_back(); }),
              ContainsRegex("shadow2: lacks gradient_norm at step"));
  EXPECT_THAT(refusal([](Record& one, Record&) { one.ranks[0].evaluation.emplace_back(); }),
              ContainsRegex("shadow3: lacks evaluation at step 0"));
}

TEST_F(ErrorsOf, NameAMissingNumber) {
  EXPECT_THAT(refusal([](Record& one, Record&) { one.ranks[0].steps[1].gradient_norm.reset(); }),
              ContainsRegex("run1: lacks gradient_norm"));
  EXPECT_THAT(refusal([](Record&, Record& truth) { truth.ranks[0].microbatches[3].loss.reset(); }),
              ContainsRegex("shadow2: lacks loss/3"));
}

TEST_F(ErrorsOf, NonFiniteValuesHaveNoLimit) {
  EXPECT_THAT(refusal([](Record& one, Record&) { one.ranks[0].steps[1].gradient_norm = NAN; }),
              HasSubstr("gradient_norm at step 1 is not finite"));
  run.with_nan.insert({0, "moment1/model.norm.weight"});
  EXPECT_THAT(refusal(), HasSubstr("moment1/model.norm.weight at step 0 is not finite"));
}

TEST(CalibratedTier, RefusesToCompareRunsThatMeasureRounding) {
  SyntheticCell perturbed, shadow;
  perturbed.candidate.manifest["perturbation"] = 3;
  shadow.reference.manifest["shadow_of"] = "float32";

  EXPECT_THAT(result_of(perturbed.judge(), "data").reason, HasSubstr("the candidate is a perturbed run (--perturb 3)"));
  EXPECT_THAT(result_of(shadow.judge(), "data").reason, HasSubstr("the reference is the float64 reference"));
}

TEST(CalibratedTier, ReportsAnUnreadableRecord) {
  for (const char* file : {"manifest.json", "rank-1/memory.csv"}) {
    CalibratedCell cell;

    const auto verdict = cell.compare(
        [&](judging::Calibration&) { std::ofstream(cell.folder / "candidate" / file, std::ios::app) << "no row\n"; });

    EXPECT_FALSE(verdict.holds);
    EXPECT_EQ(result_of(verdict, "completion").outcome, Outcome::differs);
    EXPECT_THAT(result_of(verdict, "completion").reason, HasSubstr(file));
    EXPECT_EQ(result_of(verdict, "parameters").outcome, Outcome::incomplete);
  }
}

}  // namespace
}  // namespace plumbline::testing
