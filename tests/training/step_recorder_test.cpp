// SPDX-License-Identifier: BSD-3-Clause
#include "training/step_recorder.hpp"

#include <ATen/Functions.h>
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <cstring>
#include <functional>
#include <new>
#include <thread>
#include <utility>

#include "support/csv.hpp"
#include "support/machine_memory.hpp"
#include "support/numbers.hpp"
#include "tests/temporary_folder.hpp"

namespace plumbline {
namespace {

using Cells = std::vector<std::string>;

/// Two microbatches: two rows of three and two tokens, and one row of four without a label.
plumbline::Run two_microbatches(RecordLevel level) {
  RunFile run;
  run.data.text = "story.txt";
  run.data.row_lengths = {{3, 2}, {4}};
  run.data.masked = {1};
  BatchPlan plan(run.data, Tokens(std::vector<std::int32_t>{5, 1, 4, 1, 3, 9, 2, 6, 5, 3, 5, 8}));
  plumbline::Run made{std::move(run), {}, std::move(plan)};
  made.record_level = level;
  return made;
}

/// The record of made-up steps.
class StepRecorderTest : public ::testing::Test {
 protected:
  void start(const RecordedRank& rank = {}, RecordLevel level = RecordLevel::full) {
    run_.emplace(two_microbatches(level));
    recorder_.emplace(*run_, run_->batches, folder_.path(), rank);
  }
  void feed(std::int64_t step) {
    for (std::int64_t each = 0; each < run_->batches.microbatches(); ++each)
      recorder_->on_input(each, run_->batches.make(step, each));
  }
  /// A column of a table, row by row; empty if there is no such table.
  Cells column(const std::string& file, const std::string& name) const {
    const std::filesystem::path path = folder_.path() / "rank-0" / file;
    if (!std::filesystem::exists(path)) return {};
    const CsvTable table = read_csv(path);
    Cells cells;
    for (const CsvRow& row : table.rows) cells.push_back(row.cells[table.column(name)]);
    return cells;
  }
  double number(const std::string& file, const std::string& name, std::size_t row) const {
    return parse_double(column(file, name).at(row)).value();
  }

  const StepAction forward_{0, 0, "0F0", 0, 0, true}, send_{0, 1, "0SEND_F0", 0, 0, false},
      backward_{0, 2, "0B0", 0, 0, true};
  testing::TemporaryFolder folder_;
  std::optional<plumbline::Run> run_;
  std::optional<StepRecorder> recorder_;
};

TEST_F(StepRecorderTest, DescribesEachMicrobatch) {
  start();
  recorder_->step_began(2);
  feed(2);
  recorder_->on_loss(1, at::scalar_tensor(0.0));
  recorder_->on_loss(0, at::scalar_tensor(1.5));
  recorder_->step_ended(2);

  const auto cells = [&](const char* name) { return column("microbatches.csv", name); };
  EXPECT_EQ(cells("step"), (Cells{"2", "2"}));
  EXPECT_EQ(cells("microbatch"), (Cells{"0", "1"}));
  EXPECT_EQ(cells("sequence_length"), (Cells{"3", "4"}));
  EXPECT_EQ(cells("batch"), (Cells{"2", "1"}));
  EXPECT_EQ(cells("tokens"), (Cells{"5", "4"}));
  EXPECT_EQ(cells("valid_tokens"), (Cells{"5", "0"}));
  EXPECT_EQ(cells("loss"), (Cells{"1.5", "0"}));
  const BatchPlan& plan = run_->batches;
  EXPECT_EQ(cells("data_digest"), (Cells{data_digest(plan.make(2, 0)), data_digest(plan.make(2, 1))}));
}

TEST_F(StepRecorderTest, DescribesAStep) {
  start();
  recorder_->step_began(0);
  recorder_->on_loss(0, at::scalar_tensor(1.5));
  recorder_->on_loss(1, at::scalar_tensor(0.25));
  recorder_->after_update(0, {}, {.gradient_norm = 2, .clip_coefficient = 0.5, .learning_rate = 0.125});
  recorder_->step_ended(0);

  const auto cell = [&](const char* name) { return column("steps.csv", name).at(0); };
  EXPECT_EQ(cell("step"), "0");
  EXPECT_EQ(cell("loss"), "1.75");
  EXPECT_EQ(cell("gradient_norm"), "2");
  EXPECT_EQ(cell("clip_coefficient"), "0.5");
  EXPECT_EQ(cell("learning_rate"), "0.125");
  EXPECT_EQ(cell("tokens"), "9");
  EXPECT_EQ(cell("valid_tokens"), "5");
  EXPECT_EQ(cell("live_tokens"), std::to_string(run_->batches.live_tokens(0)));
  EXPECT_EQ(recorder_->loss(), 1.75F);
  EXPECT_EQ(recorder_->update().gradient_norm, 2);
}

TEST_F(StepRecorderTest, MeasuresTheRecordingOfEachStep) {
  start();
  const at::Tensor large = at::ones({std::int64_t{16} << 20});
  for (std::int64_t step = 0; step < 2; ++step) {
    recorder_->step_began(step);
    recorder_->action_began(forward_);
    if (step == 0) recorder_->on_boundary({step, 0, "forward", "norm", "computed"}, large);  // hashes 64 MiB
    recorder_->action_ended(forward_);
    recorder_->step_ended(step);
  }

  const auto recording = [&](std::size_t step) { return number("steps.csv", "recording_seconds", step); };
  EXPECT_GT(recording(0), recording(1));
  for (const std::size_t step : {0U, 1U}) EXPECT_LE(recording(step), number("steps.csv", "seconds", step));
}

TEST_F(StepRecorderTest, TheLargestActivationPeakOfAStepIsItsOwn) {
  start();
  for (std::int64_t step = 0; step < 2; ++step) {
    recorder_->step_began(step);
    recorder_->action_began(forward_);
    for (const std::int64_t bytes : {300, 500, 200}) recorder_->set_activation_peak(forward_, bytes / (step + 1));
    recorder_->action_ended(forward_);
    recorder_->step_ended(step);
  }
  EXPECT_EQ(column("memory.csv", "activation_peak_bytes"), (Cells{"500", "250"}));
}

TEST_F(StepRecorderTest, SumsTheWaitsOfAStep) {
  start();
  recorder_->step_began(0);
  recorder_->action_began(forward_);
  recorder_->waited(forward_, 1'500'000'000);
  recorder_->waited(forward_, 500'000'000);
  EXPECT_EQ(recorder_->waited_seconds(), 2);
  recorder_->step_ended(0);

  recorder_->step_began(1);
  EXPECT_EQ(recorder_->waited_seconds(), 0);
}

TEST_F(StepRecorderTest, OtherRanksHaveNoLoss) {
  start({.owns_loss = false});
  recorder_->step_began(0);
  feed(0);
  recorder_->step_ended(0);

  EXPECT_EQ(column("microbatches.csv", "loss"), (Cells{"", ""}));
  EXPECT_EQ(column("steps.csv", "loss"), Cells{""});
  EXPECT_EQ(recorder_->loss(), std::nullopt);
}

TEST_F(StepRecorderTest, AnUnrecordedRunHasALossButNoTables) {
  start({}, RecordLevel::none);
  recorder_->step_began(0);
  feed(0);
  recorder_->on_loss(0, at::scalar_tensor(1.5));
  recorder_->step_ended(0);

  EXPECT_EQ(recorder_->loss(), 1.5F);
  for (const char* name : {"microbatches.csv", "steps.csv", "memory.csv"})
    EXPECT_FALSE(std::filesystem::exists(folder_.path() / "rank-0" / name)) << name;
}

at::Tensor bytes(MemoryOwner owner, std::int64_t count) {
  const MemoryScope scope(owner);
  return at::empty({count}, at::kByte);
}

/// Runs on its own thread, since a meter counts what its thread allocates.
void with_meter(const std::function<void()>& body) {
  install_memory_meter();
  std::thread([&] {
    new_memory_meter().attach();
    body();
  }).join();
}

TEST_F(StepRecorderTest, MemoryIsCountedByOwner) {
  with_meter([&] {
    start();
    recorder_->step_began(7);
    const at::Tensor kept[] = {bytes(MemoryOwner::parameters, 1),  bytes(MemoryOwner::gradients, 20),
                               bytes(MemoryOwner::optimizer, 300), bytes(MemoryOwner::tables, 4000),
                               bytes(MemoryOwner::data, 50000),    bytes(MemoryOwner::other, 600000)};
    const at::Tensor copied = bytes(MemoryOwner::checkpoint, 7000000);
    recorder_->step_ended(7);
  });
  const auto cell = [&](const char* name) { return column("memory.csv", name).at(0); };
  EXPECT_EQ(cell("step"), "7");
  EXPECT_EQ(cell("parameter_bytes"), "1");
  EXPECT_EQ(cell("gradient_bytes"), "20");
  EXPECT_EQ(cell("optimizer_bytes"), "300");
  EXPECT_EQ(cell("live_bytes"), "654321");
}

TEST_F(StepRecorderTest, MemoryPeaksArePerStep) {
  with_meter([&] {
    start({.owns_loss = false});
    for (const MemoryOwner owner : {MemoryOwner::other, MemoryOwner::transport}) bytes(owner, 1000);
    const at::Tensor kept = bytes(MemoryOwner::other, 10);
    for (std::int64_t step = 0; step < 2; ++step) {
      recorder_->step_began(step);
      for (const MemoryOwner owner : {MemoryOwner::other, MemoryOwner::transport}) bytes(owner, 100 * step);
      recorder_->step_ended(step);
    }
  });
  EXPECT_EQ(column("memory.csv", "peak_bytes"), (Cells{"10", "110"}))
      << "it includes what is alive when the step begins";
  EXPECT_EQ(column("memory.csv", "buffer_bytes"), (Cells{"0", "100"}));
  EXPECT_EQ(column("memory.csv", "live_bytes"), (Cells{"10", "10"}));
}

TEST_F(StepRecorderTest, ActivationPeaksArePerPassAndIncludeLeftovers) {
  with_meter([&] {
    start({.measures_passes = true});
    const at::Tensor older = bytes(MemoryOwner::activations, 1000);
    const auto run = [&](const StepAction& action, std::int64_t largest) {
      recorder_->action_began(action);
      bytes(MemoryOwner::activations, largest);
      recorder_->action_ended(action);
    };
    recorder_->step_began(0);
    run(forward_, 400);
    const at::Tensor kept = bytes(MemoryOwner::activations, 10);
    run(send_, 7000);
    run(backward_, 20);
    recorder_->step_ended(0);
  });
  EXPECT_EQ(column("actions.csv", "peak_bytes"), (Cells{"1400", "", "1030"}));
  EXPECT_EQ(column("memory.csv", "activation_peak_bytes"), Cells{"1400"});
}

TEST_F(StepRecorderTest, ProcessPeakComesFromTheKernel) {
  constexpr std::size_t size = std::size_t{64} << 20;
  void* const pages = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(pages, MAP_FAILED);
  std::memset(pages, 1, size);
  munmap(pages, size);
  const auto peak = [] { return number_behind("/proc/self/status", "VmHWM:").value() * 1024; };
  start();

  const std::int64_t before = peak();
  recorder_->step_began(0);
  recorder_->step_ended(0);
  const auto recorded = static_cast<std::int64_t>(number("memory.csv", "process_peak_bytes", 0));

  EXPECT_LE(before, recorded);
  EXPECT_LE(recorded, peak()) << "the peak only rises";
}

}  // namespace
}  // namespace plumbline
