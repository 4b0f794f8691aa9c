// SPDX-License-Identifier: BSD-3-Clause
#include "schedule/csv_import.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>

#include "schedule/lowering.hpp"
#include "schedule/schedule_csv.hpp"
#include "schedule/verifier.hpp"
#include "support/error.hpp"
#include "tests/paths.hpp"
#include "tests/schedule/integer_model.hpp"
#include "tests/schedule/schedules.hpp"

namespace plumbline {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::HasSubstr;

class CsvImport : public ::testing::Test {
 protected:
  void TearDown() override { fs::remove(path_); }

  ImportedSchedule read(const std::string& text) {
    std::ofstream(path_, std::ios::binary) << text;
    return import_schedule(path_);
  }
  std::string fault(const std::string& text) {
    return message_of<InputError>([&] { read(text); });
  }

  fs::path path_ =
      fs::temp_directory_path() / ("plumbline_import_" + std::to_string(getpid()) + "_" +
                                   ::testing::UnitTest::GetInstance()->current_test_info()->name() + ".csv");
};

TEST_F(CsvImport, ReadsEveryFileOfTorchsGenerators) {
  int accepted = 0;
  int refused = 0;
  for (const auto& entry : fs::directory_iterator(fs::path(testing::fixtures_path()) / "schedules")) {
    SCOPED_TRACE(entry.path().filename());
    const std::string stem = entry.path().stem().string();
    if (stem.find("-p") == std::string::npos) continue;  // made by hand, not by a generator
    const ImportedSchedule imported = import_schedule(entry.path());
    const auto findings = check_imported(imported, "mpi");
    EXPECT_EQ(imported.schedule.microbatches, std::stoi(stem.substr(stem.rfind('m') + 1)));
    EXPECT_EQ(imported.schedule.placement.ranks, std::stoi(stem.substr(stem.rfind("-p") + 2)));
    EXPECT_FALSE(imported.has_messages);
    if (stem.starts_with("1f1b")) {
      // The order that torch 2.11.0 prints of its 1F1B (not the one it runs) numbers the last rank's forwards from 1.
      const std::int32_t last = imported.schedule.placement.ranks - 1;
      ASSERT_FALSE(findings.empty());
      for (const ListFinding& finding : findings) {
        EXPECT_EQ(finding.rank, last) << to_text(finding);
        EXPECT_TRUE(finding.rule == Rule::range || finding.rule == Rule::missing || finding.rule == Rule::order);
      }
      ++refused;
      continue;
    }
    EXPECT_TRUE(findings.empty()) << to_text(findings.front());
    EXPECT_TRUE(execute(lower(imported.schedule, true)).has_value());
    const bool v = stem.starts_with("zbv") || stem.starts_with("dualpipe");
    EXPECT_EQ(imported.schedule.placement.kind, v ? PlacementKind::v : PlacementKind::loop);
    // GPipe's and breadth first's gradients are summed from the last microbatch to the first, or not.
    if (stem.starts_with("looped-bfs")) {
      EXPECT_FALSE(accumulates_ascending(imported.schedule));
    }
    if (stem.starts_with("interleaved-1f1b")) {
      EXPECT_TRUE(accumulates_ascending(imported.schedule));
    }
    ++accepted;
  }
  EXPECT_EQ(accepted, 30);
  EXPECT_EQ(refused, 5);
}

TEST_F(CsvImport, ReadsBlanksAndAMissingLastLineBreakAsTorchDoes) {
  const ImportedSchedule plain = read("0F0,,0B0\n1F0,1B0\n");
  EXPECT_EQ(texts(read(" 0F0 , ,\t0B0\n1F0,1B0").schedule.ranks.at(0)), texts(plain.schedule.ranks.at(0)));
  EXPECT_EQ(texts(read("0F0,0B0\n1F0, 1B0 ").schedule.ranks.at(1)), texts(plain.schedule.ranks.at(1)));
  EXPECT_EQ(texts(read("( 0F1 ; 0B0 )OVERLAP_F_B\n").schedule.ranks.at(0)), "0F1 0B0");
}

TEST_F(CsvImport, RefusesOtherPlacements) {
  const auto unsupported = HasSubstr("That placement is not supported");
  EXPECT_THAT(fault("1F0,1B0\n0F0,0B0\n"), AllOf(HasSubstr("on rank 0 1; on rank 1 0"), unsupported));
  EXPECT_THAT(fault("0F0,1F0,1B0,0B0\n2F0,2B0\n"), AllOf(HasSubstr("on rank 0 0, 1; on rank 1 2"), unsupported));
  EXPECT_THAT(fault("0F0,1F0,1B0,0B0\n2F0,3F0,3B0,2B0\n"), unsupported) << "neighbors on one rank";
  EXPECT_NO_THROW(read("0F0,3F0,3B0,0B0\n1F0,2F0,2B0,1B0\n")) << "a V";
  EXPECT_NO_THROW(read("0F0,1F0,0B0\n1B0\n")) << "one action in another rank's list: a finding";
}

TEST_F(CsvImport, ReadsWhatOnlyTorchWrites) {
  EXPECT_EQ(texts(read("0F0,0B0\n").schedule.ranks.at(0)), "0F0 0B0");
  EXPECT_EQ(texts(read("0F0,0F1,(1F0;0B0)OVERLAP_F_B\n").schedule.ranks.at(0)), "0F0 0F1 1F0 0B0");
  const ImportedSchedule notes = read("0UNSHARD,0F0,,0B0,0RESHARD,0REDUCE_GRAD\n");
  EXPECT_EQ(texts(notes.schedule.ranks.at(0)), "0F0 0B0");
  EXPECT_EQ(notes.notes.size(), 3U);
  const ImportedSchedule waits = read(
      "0F0,0SEND_F0,0RECV_B0,0B0,0WAIT_SEND_F0,0REDUCE_GRAD,0WAIT_REDUCE_GRAD\n1RECV_F0,1F0,1B0,1SEND_B0,1WAIT_SEND_"
      "B0\n");
  EXPECT_EQ(texts(waits.schedule.ranks.at(0)), "0F0 0SEND_F0 0RECV_B0 0B0");
  EXPECT_THAT(waits.notes, Contains("1 WAIT_SEND_F ignored: a step ends with its sends"));
  EXPECT_THAT(waits.notes, Contains("1 WAIT_REDUCE_GRAD ignored: parameters are whole on their rank here"));
  EXPECT_TRUE(read("0F0,0SEND_F0,0RECV_B0,0B0\n1RECV_F0,1F0,1B0,1SEND_B0\n").has_messages);
}

TEST_F(CsvImport, ErrorsNameRowAndColumn) {
  EXPECT_THAT(fault("0F0,0B0\n1F0,1B0x\n"), AllOf(HasSubstr("row 2, column 2"), HasSubstr("1B0x")));
  EXPECT_THAT(fault("0F0,0BW0\n"), AllOf(HasSubstr("row 1, column 2"), HasSubstr("older torch")));
  for (const char* broken : {"(0F0;0B0)", "(0F0;0B0)OVERLAP", "()OVERLAP_F_B", "(0F0;)OVERLAP_F_B",
                             "(0F0 0B0)OVERLAP_F_B", "(0SEND_F0)OVERLAP_F_B", "((0F0)OVERLAP_F_B)OVERLAP_F_B", "0 F0",
                             "0F", "UNSHARD", "0UNSHARD1", "0WAIT_SEND_F", "WAIT_SEND_F0", "0FOO1", "0F4294967296"}) {
    EXPECT_THAT(fault(std::string(broken) + ",0B0\n"), HasSubstr("row 1, column 1")) << broken;
  }
  EXPECT_THAT(fault("9999999F0,0B0\n"), HasSubstr("only 2 actions"));
  EXPECT_THAT(fault(",,\n"), HasSubstr("no action"));
  EXPECT_THAT(fault("\n"), HasSubstr("no action in any row"));
}

TEST_F(CsvImport, UsesTheGivenPlacement) {
  // On one rank a loop and a V are the same.
  EXPECT_EQ(read("0F0,1F0,1B0,0B0\n").schedule.placement.kind, PlacementKind::loop);
  EXPECT_EQ(import_schedule(path_, PlacementKind::v).schedule.placement.kind, PlacementKind::v);
}

TEST_F(CsvImport, ReportsInvalidSchedules) {
  const auto first = [&](const std::string& text) {
    const auto findings = check_imported(read(text), "mpi");
    return findings.empty() ? std::string("nothing") : to_text(findings.front());
  };
  EXPECT_EQ(first("0F0,0F1,0B0,0B1\n1F0,1B0,1F1,1B1\n"), "nothing");
  EXPECT_THAT(first("0F0,0F7,0B0,0B7\n1F0,1B0,1F1,1B1\n"), HasSubstr("only the microbatches 0 to 1"));
  EXPECT_THAT(first("0F0,0B0,1F0\n1F0,1B0\n"), AllOf(HasSubstr("rank 0, position 2"), HasSubstr("is on rank 1")));
  EXPECT_THAT(first("0F0,0B0,0F1,0B1\n1F0,1F1,1B0,1B1\n"), HasSubstr("in a cycle: 0B0 (rank 0, position 1)"));
  EXPECT_THAT(first("0F0,0F1\n"), HasSubstr("it is missing from the list"));
  EXPECT_THAT(first("0F0,0SEND_F0,0F1,0SEND_F1,0RECV_B0,0B0,0RECV_B1,0B1\n"
                    "1RECV_F0,1F0,1B0,1SEND_B0,1RECV_F1,1F1,1B1,1SEND_B1\n"),
              "nothing");
}

TEST_F(CsvImport, RoundTrips) {
  for_each_generated([&](const Schedule& schedule) {
    if (schedule.microbatches % 4 != 0 || schedule.microbatches > 8) return;
    for (const std::string& text : {to_csv(schedule), export_for_torch(schedule)}) {
      const ImportedSchedule back = read(text);
      EXPECT_EQ(back.schedule.ranks, schedule.ranks);
      EXPECT_EQ(back.schedule.microbatches, schedule.microbatches);
      const Placement &placed = back.schedule.placement, &expected = schedule.placement;
      for (std::int32_t s = 0; s < expected.stages(); ++s) EXPECT_EQ(placed.rank_of(s), expected.rank_of(s));
    }
  });
  const Schedule lowered = lower(make_schedule("zb-h1", 3, 4), true);
  EXPECT_EQ(read(to_csv(lowered)).schedule.ranks, lowered.ranks);
}

}  // namespace
}  // namespace plumbline
