// SPDX-License-Identifier: BSD-3-Clause
#include "training/action_log.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <thread>

#include "record/record.hpp"
#include "support/csv.hpp"
#include "support/files.hpp"
#include "tests/temporary_folder.hpp"
#include "tests/training/gpu/fake_gpus.hpp"

namespace plumbline {
namespace {

TEST(ActionLog, WritesIssueOrderAndNondecreasingTimes) {
  const testing::TemporaryFolder folder;
  RecordWriter writer(folder.path(), 0, RecordLevel::summary, false);
  ActionLog log(writer, monotonic_ns());

  const StepAction receive{3, 0, "1RECV_F0", 1, 0, false};
  const StepAction forward{3, 1, "1F0", 1, 0, true};

  log.began(receive);
  log.began(forward);
  log.ended(receive);
  log.waited(forward, 2);
  log.waited(forward, 3);
  log.ended(forward);
  log.set_peak(forward, 64);
  log.step_ended();
  writer.flush();

  const CsvTable table = read_csv(folder.path() / "rank-0" / "actions.csv");
  ASSERT_EQ(table.rows.size(), 2U);
  const auto cell = [&](std::size_t row, const char* name) { return table.rows[row].cells[table.column(name)]; };
  EXPECT_EQ(cell(0, "action"), "1RECV_F0");
  EXPECT_EQ(cell(1, "index"), "1");
  EXPECT_EQ(cell(1, "step"), "3");
  EXPECT_EQ(cell(1, "wait_ns"), "5");
  EXPECT_EQ(cell(1, "peak_bytes"), "64");
  EXPECT_LE(std::stoll(cell(0, "start_ns")), std::stoll(cell(0, "end_ns")));
  EXPECT_LE(std::stoll(cell(0, "end_ns")), std::stoll(cell(1, "end_ns")));
}

TEST(ActionLog, WritesAFlightRecordOfAFailedStep) {
  const testing::TemporaryFolder folder;
  RecordWriter writer(folder.path(), 0, RecordLevel::summary, false);
  ActionLog log(writer, monotonic_ns());
  const StepAction forward{0, 0, "0F0", 0, 0, true};
  log.began(forward);
  log.ended(forward);
  log.began({0, 1, "0RECV_B0", 0, 0, false});

  log.write_flight_record(folder.path() / "flight.jsonl");

  const std::string lines = read_file(folder.path() / "flight.jsonl");
  EXPECT_NE(lines.find(R"("action":"0RECV_B0")"), std::string::npos);
  EXPECT_NE(lines.find(R"("end_ns":null)"), std::string::npos) << "the receive never ended";
  EXPECT_EQ(log.last_action(), "0RECV_B0");
}

// The GPU is 50 ms behind the host: it starts the first pass 30 ms before the earlier work ends, and waits 4 ms before
// the second.
TEST(ActionLog, UsesGpuTimesForComputeAndHostTimesForMessages) {
  const testing::TemporaryFolder folder;
  RecordWriter writer(folder.path(), 0, RecordLevel::summary, false);
  testing::FakeGpus gpus;
  const std::int64_t origin_ns = monotonic_ns() - 1'000'000'000;  // these points were reached before they were recorded
  ActionLog log(writer, origin_ns, &gpus);
  const StepAction first{0, 0, "1F0", 1, 0, true}, send{0, 1, "1SEND_F0", 1, 0, false}, second{0, 2, "1F1", 1, 1, true},
      update{0, 3, "0STEP", 0, std::nullopt, false};

  const std::int64_t began_ns = monotonic_ns() - origin_ns;
  log.began(first);
  log.ended(first);
  log.began(send);
  log.began(second);
  log.ended(send);
  log.waited(second, 1);
  log.ended(second);
  log.began(update);
  log.waited(update, 50'000'000);
  log.ended(update);
  EXPECT_EQ(gpus.marks, 7) << "none for a message, none for the wait within an update";
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  gpus.before_end = {30'000'000, 20'000'000, 19'000'000, 15'000'000, 10'000'000, 9'000'000, 1'000'000};
  log.step_ended();
  writer.flush();

  const CsvTable table = read_csv(folder.path() / "rank-0" / "actions.csv");
  ASSERT_EQ(table.rows.size(), 4U);
  const auto number = [&](std::size_t row, const char* name) {
    return std::stoll(table.rows[row].cells[table.column(name)]);
  };
  EXPECT_EQ(number(0, "end_ns") - number(0, "start_ns"), 10'000'000);
  EXPECT_GE(number(0, "start_ns") - began_ns, 20'000'000);
  EXPECT_EQ(number(2, "start_ns") - number(0, "end_ns"), 1'000'000);
  EXPECT_EQ(number(2, "end_ns") - number(2, "start_ns"), 9'000'000);
  EXPECT_EQ(number(2, "wait_ns"), 4'000'000);
  EXPECT_EQ(number(3, "end_ns") - number(3, "start_ns"), 8'000'000);
  EXPECT_EQ(number(3, "wait_ns"), 8'000'000) << "no longer than the update took";
  EXPECT_LT(number(1, "start_ns"), number(0, "end_ns")) << "issued while the GPU still computed";
}

TEST(ActionLog, NoGpuTimePrecedesItsRecording) {
  const testing::TemporaryFolder folder;
  RecordWriter writer(folder.path(), 0, RecordLevel::summary, false);
  testing::FakeGpus gpus;
  const std::int64_t origin_ns = monotonic_ns();
  ActionLog log(writer, origin_ns, &gpus);
  const StepAction forward{0, 0, "0F0", 0, 0, true};
  const std::int64_t began_ns = monotonic_ns() - origin_ns;
  log.began(forward);
  log.ended(forward);
  gpus.before_end = {3'000'000'000, 2'000'000'000};
  log.step_ended();
  writer.flush();

  const CsvTable table = read_csv(folder.path() / "rank-0" / "actions.csv");
  EXPECT_GE(std::stoll(table.rows.at(0).cells[table.column("start_ns")]), began_ns);
}

}  // namespace
}  // namespace plumbline
