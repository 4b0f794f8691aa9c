// SPDX-License-Identifier: BSD-3-Clause
#include <ATen/ops/empty.h>
#include <gtest/gtest.h>

#include <thread>

#include "support/csv.hpp"
#include "tests/temporary_folder.hpp"
#include "training/run_monitor.hpp"

namespace plumbline {
namespace {

at::Tensor bytes(std::int64_t count) {
  const MemoryScope scope(MemoryOwner::activations);
  return at::empty({count}, at::kByte);
}

/// Rank 0's step: two passes with a message between them.
void take_a_step(const std::filesystem::path& folder) {
  new_memory_meter().attach();
  const TrainingRun training = load_training_run(PLUMBLINE_FIXTURES "/runs/quick.toml", std::nullopt);
  RunMonitor monitor(training, folder, {.measures_passes = true});
  const at::Tensor older = bytes(1000);
  monitor.step_began(0);

  const auto run = [&](const StepAction& action, std::int64_t largest) {
    monitor.action_began(action);
    bytes(largest);
    monitor.action_ended(action);
  };
  run({0, 0, "0F0", 0, 0, true}, 400);
  const at::Tensor kept = bytes(10);
  run({0, 1, "0SEND_F0", 0, 0, false}, 7000);
  run({0, 2, "0B0", 0, 0, true}, 20);
  monitor.step_ended(0);
}

TEST(ActivationPeaks, ArePerPassAndHaveWhatAnEarlierStepLeftBehind) {
  install_memory_meter();
  const testing::TemporaryFolder folder;

  std::thread(take_a_step, folder.path()).join();  // a meter counts what its thread allocates from then on

  const auto column = [&](const char* file, const char* name) {
    const CsvTable table = read_csv(folder.path() / "rank-0" / file);
    std::vector<std::string> cells;
    for (const CsvRow& row : table.rows) cells.push_back(row.cells[table.column(name)]);
    return cells;
  };
  EXPECT_EQ(column("actions.csv", "peak_bytes"), (std::vector<std::string>{"1400", "", "1030"}));
  EXPECT_EQ(column("memory.csv", "activation_peak_bytes"), std::vector<std::string>{"1400"});
}

}  // namespace
}  // namespace plumbline
