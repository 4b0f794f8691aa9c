// SPDX-License-Identifier: BSD-3-Clause
#include "training/run_monitor.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <thread>

#include "support/csv.hpp"
#include "support/numbers.hpp"
#include "tests/temporary_folder.hpp"
#include "training/training_run.hpp"

namespace plumbline {
namespace {

/// Slow in the actions of the first step.
class Slow : public StepObserver {
 public:
  void action_began(const StepAction& action) override {
    if (action.step == 0) std::this_thread::sleep_for(std::chrono::milliseconds(200));
  }
};

TEST(RunMonitor, MeasuresTheRecordingOfEachStep) {
  const testing::TemporaryFolder folder;
  const TrainingRun training = load_training_run(PLUMBLINE_FIXTURES "/runs/quick.toml", std::nullopt);
  RunMonitor monitor(training, folder.path(), {});
  Slow slow;
  monitor.add(slow);
  for (std::int64_t step = 0; step < 2; ++step) {
    monitor.step_began(step);
    const StepAction action{step, 0, "0F0", 0, 0, true};
    monitor.action_began(action);
    monitor.action_ended(action);
    monitor.step_ended(step);
  }

  const CsvTable steps = read_csv(folder.path() / "rank-0" / "steps.csv");
  ASSERT_EQ(steps.rows.size(), 2U);
  const auto seconds = [&](std::size_t step, const char* name) {
    return parse_double(steps.rows[step].cells[steps.column(name)]).value();
  };
  EXPECT_GE(seconds(0, "recording_seconds"), 0.2);
  for (const std::size_t step : {0U, 1U}) EXPECT_LE(seconds(step, "recording_seconds"), seconds(step, "seconds"));
}

}  // namespace
}  // namespace plumbline
