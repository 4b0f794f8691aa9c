// SPDX-License-Identifier: BSD-3-Clause
#include "training/run_monitor.hpp"

#include <ATen/ops/ones.h>
#include <gtest/gtest.h>

#include "support/csv.hpp"
#include "support/numbers.hpp"
#include "tests/temporary_folder.hpp"
#include "training/training_run.hpp"

namespace plumbline {
namespace {

TEST(RunMonitor, MeasuresTheRecordingOfEachStep) {
  const testing::TemporaryFolder folder;
  const TrainingRun training = load_training_run(PLUMBLINE_FIXTURES "/runs/quick.toml", std::nullopt);
  RunMonitor monitor(training, folder.path(), {});
  const at::Tensor large = at::ones({std::int64_t{16} << 20});
  for (std::int64_t step = 0; step < 2; ++step) {
    monitor.step_began(step);
    const StepAction action{step, 0, "0F0", 0, 0, true};
    monitor.action_began(action);
    if (step == 0) monitor.on_boundary({step, 0, "forward", "norm", "computed"}, large);  // hashes 64 MiB
    monitor.action_ended(action);
    monitor.step_ended(step);
  }

  const CsvTable steps = read_csv(folder.path() / "rank-0" / "steps.csv");
  ASSERT_EQ(steps.rows.size(), 2U);
  const auto seconds = [&](std::size_t step, const char* name) {
    return parse_double(steps.rows[step].cells[steps.column(name)]).value();
  };
  EXPECT_GT(seconds(0, "recording_seconds"), seconds(1, "recording_seconds"));
  for (const std::size_t step : {0U, 1U}) EXPECT_LE(seconds(step, "recording_seconds"), seconds(step, "seconds"));
}

}  // namespace
}  // namespace plumbline
