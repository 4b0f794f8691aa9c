// SPDX-License-Identifier: BSD-3-Clause
#include "schedule/schedule_csv.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "schedule/schedule.hpp"
#include "support/error.hpp"
#include "tests/schedule/schedules.hpp"

namespace plumbline {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

class ScheduleCsv : public ::testing::Test {
 protected:
  void TearDown() override { std::filesystem::remove(path_); }

  Schedule read(const std::string& text, std::int32_t chunks_per_rank = 1) {
    std::ofstream(path_, std::ios::binary) << text;
    return schedule_from_csv(path_, "mine", chunks_per_rank);
  }
  std::string fault(const std::string& text) {
    return message_of<InputError>([&] { read(text); });
  }

  std::string path_ = (std::filesystem::temp_directory_path() /
                       ("plumbline_schedule_" + std::to_string(getpid()) + "_" +
                        ::testing::UnitTest::GetInstance()->current_test_info()->name() + ".csv"))
                          .string();
};

TEST_F(ScheduleCsv, HasOneRowPerRank) {
  EXPECT_EQ(to_csv(make_schedule("1f1b", 2, 2)), "0F0,0F1,0B0,0B1\n1F0,1B0,1F1,1B1\n");
}

TEST_F(ScheduleCsv, RoundTrips) {
  for_each_schedule([&](const Schedule& schedule) {
    const Schedule back = read(to_csv(schedule));

    EXPECT_EQ(back.ranks, schedule.ranks);
    EXPECT_EQ(back.microbatches, schedule.microbatches);
    EXPECT_EQ(back.placement.ranks, schedule.placement.ranks);
    EXPECT_EQ(back.name, "mine");
  });
}

TEST_F(ScheduleCsv, DetectsThePlacement) {
  for (const char* name : {"looped-bfs", "zb-v", "dualpipe-v"}) {
    const Schedule schedule = make_schedule(name, 3, 6, 2);

    const Schedule back = read(to_csv(schedule), 2);

    EXPECT_EQ(back.ranks, schedule.ranks);
    EXPECT_EQ(back.placement.kind, schedule.placement.kind) << name;
  }
}

TEST_F(ScheduleCsv, RefusesEmptyCells) {
  const auto no_action =
      HasSubstr("\"\" is not an action");  // empty cells are allowed in imported files only: CsvImport
  EXPECT_THAT(fault("0F0,,0B0\n1F0,1B0\n"), AllOf(HasSubstr("row 1, column 2"), no_action));
  EXPECT_THAT(fault("0F0,0B0\n,1F0,1B0\n"), AllOf(HasSubstr("row 2, column 1"), no_action));
  EXPECT_THAT(fault("0F0,0B0\n1F0,1B0,\n"), AllOf(HasSubstr("row 2, column 3"), no_action));
}

TEST_F(ScheduleCsv, RefusesMessagesInComputeLists) {
  const Schedule schedule = read("0F0,0SEND_F0,0RECV_B0,0B0,0STEP\n1RECV_F0,1F0,1B0,1SEND_B0,1STEP\n");

  EXPECT_EQ(schedule.ranks.at(1), actions("1F0 1B0"));
}

TEST_F(ScheduleCsv, ErrorsNameFileRowAndColumn) {
  EXPECT_THAT(fault("0F0,0B0\n1F0,1B0x\n"), AllOf(HasSubstr(path_), HasSubstr("row 2, column 2"), HasSubstr("1B0x")));
  EXPECT_THAT(fault("0F0,0BW0\n"), AllOf(HasSubstr("row 1, column 2"), HasSubstr("is not an action")));
}

TEST_F(ScheduleCsv, RefusesWhatIsNotASchedule) {
  EXPECT_THAT(fault(""), HasSubstr("the file is empty"));
  EXPECT_THAT(fault("\n"), HasSubstr("no action in any row"));
  EXPECT_THAT(fault("0STEP\n1STEP\n"), HasSubstr("no action in any row"));
  EXPECT_THAT(fault(",,\n"), HasSubstr("not an action"));
  EXPECT_THAT(fault("0F0,0B0,0F2000000000,0B2000000000\n"), HasSubstr("numbered from 0 without gaps"));
  EXPECT_THAT(fault("0F0,0B0,0F2147483647,0B2147483647\n"), HasSubstr("impossible microbatch number"));
  EXPECT_THAT(fault("0F0,0B0,0F2,0B2\n"), AllOf(HasSubstr("0F1"), HasSubstr("missing from the list")));
  EXPECT_THAT(fault("1F0,1B0\n0F0,0B0\n"), HasSubstr("is on rank 1"));
  EXPECT_THAT(message_of<InputError>([&] { read("0F0,0B0\n", 0); }), HasSubstr("at least 1"));
}

TEST_F(ScheduleCsv, TablesOfStagesAndMicrobatchesAreBoundedByTheFile) {
  std::string rows;
  for (int rank = 0; rank < 2000; ++rank) rows += "0F" + std::to_string(rank) + "\n";
  EXPECT_THAT(fault(rows), HasSubstr("2000 actions are too few for 2000 stages and 2000 microbatches"));
}

}  // namespace
}  // namespace plumbline
