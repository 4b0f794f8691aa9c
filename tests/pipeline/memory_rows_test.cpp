// SPDX-License-Identifier: BSD-3-Clause
// The owners of the bytes that are live when a step ends, in both trainers.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>

#include "record/record.hpp"
#include "support/files.hpp"
#include "tests/pipeline/parity.hpp"
#include "tests/pipeline/references.hpp"
#include "tests/temporary_folder.hpp"
#include "training/memory_meter.hpp"

namespace plumbline {
namespace {

namespace fs = std::filesystem;

/// quick.toml at a given record level.
fs::path quick_at(const std::string& level, const fs::path& folder) {
  return quick_run(folder, "\n[record]\nlevel = \"" + level + "\"\n");
}

Record train_on_one_device(const fs::path& run, const fs::path& record) {
  train_reference(reference_options(run, record));
  return read_record(record);
}

std::int64_t owned(const MemoryRow& row) {
  return *row.parameter_bytes + *row.gradient_bytes + *row.optimizer_bytes + *row.table_bytes + *row.data_bytes +
         *row.other_bytes;
}

/// LibTorch caches a scalar per thread at first use. A test of this process that trains without a record allocates the
/// main thread's, which would then not be counted for the reference here.
class Metered : public ::testing::Environment {
 public:
  void SetUp() override { install_memory_meter(); }
};
[[maybe_unused]] const auto* const metered = ::testing::AddGlobalTestEnvironment(new Metered);

TEST(MemoryRows, EveryLiveByteHasAPermanentOwner) {
  for (const std::string level : {"full", "dump"}) {
    const testing::TemporaryFolder folder;
    const fs::path run = quick_at(level, folder.path());
    const Record reference = train_on_one_device(run, folder / "reference");
    const MemoryRow& one = reference.ranks.at(0).memory.at(0);
    EXPECT_EQ(*one.live_bytes, owned(one)) << level;

    for (const auto& [world, schedule] : {WorldAndSchedule{1, "1f1b"}, {3, "1f1b"}, {2, "zb-v"}, {8, "afab"}}) {
      const fs::path record = folder / (schedule + std::to_string(world));
      ASSERT_EQ(train_pipeline(options(run, record, world, schedule)), 0);

      for (const RankRecord& rank : read_record(record).ranks) {
        ASSERT_EQ(rank.memory.size(), 3U);
        for (const MemoryRow& row : rank.memory) {
          const std::string where = level + ", " + schedule + ", rank " + std::to_string(rank.rank) + " of " +
                                    std::to_string(world) + ", step " + std::to_string(row.step);
          EXPECT_EQ(*row.live_bytes, owned(row)) << where;
          EXPECT_LE(*row.other_bytes, *one.other_bytes) << where;
          EXPECT_LE(*row.other_peak_bytes, *one.other_peak_bytes) << where;
          EXPECT_LE(*row.data_bytes, *one.data_bytes) << where;
        }
      }
    }
  }
}

TEST(MemoryRows, TablesAreAllocatedOncePerStageWithLayers) {
  const testing::TemporaryFolder folder;
  const fs::path run = quick_at("summary", folder.path());
  const Record reference = train_on_one_device(run, folder / "reference");
  const std::int64_t tables = *reference.ranks.at(0).memory.at(0).table_bytes;
  EXPECT_EQ(tables, 2 * 16 * 8 * 4) << "cosine and sine of 16 positions, head size 8";

  ASSERT_EQ(train_pipeline(options(run, folder / "chunks", 2, "zb-v")), 0);
  ASSERT_EQ(train_pipeline(options(run, folder / "wide", 8, "1f1b")), 0);

  for (const RankRecord& rank : read_record(folder / "chunks").ranks) {
    EXPECT_EQ(*rank.memory.at(0).table_bytes, 2 * tables) << "two stages a rank";
  }
  const Record wide = read_record(folder / "wide");
  for (const RankRecord& rank : wide.ranks) {
    const auto& units = wide.manifest.stages.at(static_cast<std::size_t>(rank.rank)).units;
    const bool layers = std::ranges::any_of(units, [](const std::string& unit) { return unit.starts_with("layers."); });
    EXPECT_EQ(*rank.memory.at(0).table_bytes, layers ? tables : 0) << "rank " << rank.rank;
  }
}

}  // namespace
}  // namespace plumbline
