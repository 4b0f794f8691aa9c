#include "training/action_log.hpp"

#include <gtest/gtest.h>

#include "record/record.hpp"
#include "support/csv.hpp"
#include "support/files.hpp"
#include "tests/temporary_folder.hpp"

namespace plumbline {
namespace {

TEST(ActionLog, WritesIssueOrderAndTimesThatDoNotRunBackwards) {
  const testing::TemporaryFolder folder;
  RecordWriter writer(folder.path(), 0, RecordLevel::summary, false);
  ActionLog log(writer, monotonic_ns());

  const StepAction receive{3, 0, "1RECV_F0", 1, 0, false};
  const StepAction forward{3, 1, "1F0", 1, 0, true};

  log.action_began(receive);
  log.action_began(forward);
  log.action_ended(receive);
  log.waited(forward, 5);
  log.action_ended(forward);
  log.set_peak(forward, 64);
  log.step_ended(3);
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

TEST(ActionLog, LeavesAFlightRecordOfTheStepThatFailed) {
  const testing::TemporaryFolder folder;
  RecordWriter writer(folder.path(), 0, RecordLevel::summary, false);
  ActionLog log(writer, monotonic_ns());
  const StepAction forward{0, 0, "0F0", 0, 0, true};
  log.action_began(forward);
  log.action_ended(forward);
  log.action_began({0, 1, "0RECV_B0", 0, 0, false});

  log.write_flight(folder.path() / "flight.jsonl");

  const std::string lines = read_file(folder.path() / "flight.jsonl");
  EXPECT_NE(lines.find(R"("action":"0RECV_B0")"), std::string::npos);
  EXPECT_NE(lines.find(R"("end_ns":null)"), std::string::npos) << "the receive never ended";
  EXPECT_EQ(log.last_action(), "0RECV_B0");
}

}  // namespace
}  // namespace plumbline
