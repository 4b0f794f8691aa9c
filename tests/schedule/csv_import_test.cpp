// SPDX-License-Identifier: BSD-3-Clause
#include "schedule/csv_import.hpp"

#include <gtest/gtest.h>

#include <filesystem>

#include "schedule/lowering.hpp"
#include "schedule/schedule_csv.hpp"
#include "schedule/verifier.hpp"
#include "support/error.hpp"
#include "tests/paths.hpp"
#include "tests/schedule/integer_model.hpp"
#include "tests/schedule/schedules.hpp"
#include "tests/temporary_folder.hpp"

namespace plumbline {
namespace {

namespace fs = std::filesystem;

TEST(CsvImport, ReadsEveryFileOfTorchsGenerators) {
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

TEST(CsvImport, RoundTrips) {
  const testing::TemporaryFolder folder;
  const auto read = [&](const std::string& text) { return import_schedule(folder.file("mine.csv", text)).schedule; };
  for_each_generated([&](const Schedule& schedule) {
    if (schedule.microbatches % 4 != 0 || schedule.microbatches > 8) return;
    for (const std::string& text : {to_csv(schedule), export_for_torch(schedule)}) {
      const std::string path = folder.file("mine.csv", text).string();
      for (const Schedule& back :
           {import_schedule(path).schedule, schedule_from_csv(path, "mine", schedule.placement.chunks_per_rank)}) {
        EXPECT_EQ(back.ranks, schedule.ranks);
        EXPECT_EQ(back.microbatches, schedule.microbatches);
        const Placement &placed = back.placement, &expected = schedule.placement;
        for (std::int32_t s = 0; s < expected.stages(); ++s) EXPECT_EQ(placed.rank_of(s), expected.rank_of(s));
      }
    }
  });
  const Schedule lowered = lower(make_schedule("zb-h1", 3, 4), true);
  EXPECT_EQ(read(to_csv(lowered)).ranks, lowered.ranks);
}

TEST(CsvImport, TablesOfStagesAndMicrobatchesAreBoundedByTheFile) {
  const testing::TemporaryFolder folder;
  std::string rows;
  for (int rank = 0; rank < 2000; ++rank) rows += "0F" + std::to_string(rank) + "\n";
  const std::string path = folder.file("mine.csv", rows).string();

  const std::string said = testing::error_of<InputError>([&] { schedule_from_csv(path, "mine", 1); });

  EXPECT_NE(said.find("2000 actions are too few for 2000 stages and 2000 microbatches"), std::string::npos) << said;
}

}  // namespace
}  // namespace plumbline
