// SPDX-License-Identifier: BSD-3-Clause
// Two runs whose bits differ, compared within limits: each single change must make one check fail.
#include <gmock/gmock.h>

#include <cmath>
#include <sstream>

#include "harness/judge/limits/value_comparison.hpp"
#include "support/error.hpp"
#include "tests/approved.hpp"
#include "tests/harness/judge/changed_records.hpp"
#include "tests/harness/judge/limits/dumped_run.hpp"

namespace plumbline::testing {
namespace {

using ::testing::ContainsRegex;
using ::testing::HasSubstr;

/// Changes and judges a CalibratedCell. Of c (candidate), r (reference) or s (float64 reference), a change is "ulps
/// STEP TENSOR N", "nan STEP TENSOR", "digest STEP TENSOR", "undumped STEP TENSOR", or one of a record's files; "later
/// s ..." comes after the calibration, which "calibration without STEP ITEM" and "calibration /shadow_run_id" change.
std::string verdict_within_limits(const std::string& changes) {
  CalibratedCell cell;
  std::istringstream lines(changes);
  for (std::string line; std::getline(lines, line);) cell.change(line);
  std::string text;
  try {
    static const CellVerdict unchanged = CalibratedCell().compare();
    const bool changed = changes != "unchanged\n";
    text = verdict_text(cell.compare(), changed ? &unchanged : nullptr);
    if (!changed || changes.find("cuda") != std::string::npos)
      text += std::string("\nin bits: ") + (cell.compare_in_bits().holds ? "holds" : "does not hold");
  } catch (const InputError& error) {
    text = error.what();
  }
  return in_folder(cell.folder, text);
}

TEST(WithinLimits, VerdictsAreAsApproved) {
  expect_answers("within-limits.txt", verdict_within_limits);
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

}  // namespace
}  // namespace plumbline::testing
