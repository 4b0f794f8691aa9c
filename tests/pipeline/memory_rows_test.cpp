// SPDX-License-Identifier: BSD-3-Clause
// Bytes that are live when a step ends, in both trainers.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

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

/// LibTorch caches a scalar per thread at first use. A test in this process that trains without a record would allocate
/// the main thread's scalar, which would then not be counted for the reference here.
class Metered : public ::testing::Environment {
 public:
  void SetUp() override { install_memory_meter(); }
};
[[maybe_unused]] const auto* const metered = ::testing::AddGlobalTestEnvironment(new Metered);

TEST(MemoryRows, NoStepKeepsBytes) {
  for (const std::string level : {"full", "dump"}) {
    const testing::TemporaryFolder folder;
    const fs::path run = quick_at(level, folder.path());
    std::vector<Record> records = {train_on_one_device(run, folder / "reference")};
    for (const auto& [world, schedule] : {WorldAndSchedule{1, "1f1b"}, {3, "1f1b"}, {2, "zb-v"}, {8, "afab"}}) {
      const fs::path record = folder / (schedule + std::to_string(world));
      ASSERT_EQ(train_pipeline(options(run, record, world, schedule)), 0);
      records.push_back(read_record(record));
    }
    for (const Record& record : records) {
      for (const RankRecord& rank : record.ranks) {
        ASSERT_EQ(rank.memory.size(), 3U);
        for (const MemoryRow& row : rank.memory)
          EXPECT_EQ(row.live_bytes, rank.memory[0].live_bytes)
              << level << ", rank " << rank.rank << " of " << record.ranks.size() << ", step " << row.step;
      }
    }
  }
}

}  // namespace
}  // namespace plumbline
