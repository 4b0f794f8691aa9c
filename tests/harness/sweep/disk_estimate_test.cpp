// SPDX-License-Identifier: BSD-3-Clause
#include <gmock/gmock.h>

#include "harness/sweep/run_size.hpp"
#include "tests/temporary_folder.hpp"

namespace plumbline::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

/// fixtures/models/stories260k over eight microbatches and two steps, with AdamW.
RunSize stories() {
  RunSize size;
  size.parameters = 260032;
  size.tokens = 600;
  size.microbatches = 8;
  size.steps = 2;
  size.states = 2;
  size.hidden = 64;
  size.layers = size.units = 5;
  return size;
}

TEST(DiskEstimate, GrowsWithWhatALevelWrites) {
  const auto bytes = [](const std::string& level) { return record_bytes(stories(), 4, 4, level); };

  EXPECT_LT(bytes("none"), bytes("summary"));
  EXPECT_LT(bytes("summary"), bytes("full"));
  EXPECT_LT(bytes("full") + 2 * 4 * 2 * stories().parameters, bytes("dump"));
  EXPECT_GT(record_bytes(stories(), 8, 8, "full"), bytes("full")) << "more ranks";
}

TEST(DiskEstimate, SaysWhatPassesAndWhereTheDiskIsTooSmall) {
  EXPECT_EQ(disk_text({70e6, 0}, "/"), "about 70 MB on disk");
  EXPECT_THAT(disk_text({7e6, 1.3e9}, "/"),
              HasSubstr("about 7.0 MB on disk, and 1.3 GB more until its values are recomputed"));
  EXPECT_THAT(disk_text({1e18, 0}, "/no/such/folder/yet"), HasSubstr("and / has only"));
  EXPECT_THAT(disk_text({1, 0}, "/"), Not(HasSubstr("has only")));
}

// A reference writes its actions once and what it sends to nobody; each further rank and stage of a pipeline adds rows.
TEST(DiskEstimate, IsOfARecordWhatItsRowsTake) {
  const RunSize size = stories();
  constexpr double blocks_of_one = (9 + 8) * 4096, blocks_of_four = (4 * 9 + 8) * 4096;

  EXPECT_EQ(record_bytes(size, 0, 1, "none"), blocks_of_one);
  EXPECT_EQ(record_bytes(size, 4, 4, "none"), blocks_of_four);
  EXPECT_EQ(record_bytes(size, 0, 1, "summary"), blocks_of_one + 16 * 2 * 43 + 16 * 60 + 8 * (5 + 3) * 40);
  EXPECT_EQ(record_bytes(size, 4, 8, "summary"), blocks_of_four + 16 * 8 * 6 * 43 + 16 * 4 * 60);
  const double tensors = (9 * 5 + 3) * ((2 + 2) * 2 + 1) * 141;
  EXPECT_EQ(record_bytes(size, 0, 1, "full") - record_bytes(size, 0, 1, "summary"), tensors + 16 * 2 * (5 + 2) * 92);
  EXPECT_EQ(record_bytes(size, 4, 8, "full") - record_bytes(size, 4, 8, "summary"), tensors + 16 * 2 * 2 * 7 * 92);
  EXPECT_EQ(record_bytes(size, 4, 8, "dump") - record_bytes(size, 4, 8, "full"), dump_bytes(size));
}

/// A reference and two cells of it on two ranks.
class DiskEstimateOf : public ::testing::Test {
 protected:
  DiskEstimateOf() {
    folder_.file("config.json", R"({"architectures": ["LlamaForCausalLM"], "hidden_act": "silu", "hidden_size": 4,
      "intermediate_size": 6, "num_attention_heads": 2, "num_hidden_layers": 5, "rms_norm_eps": 1e-5,
      "vocab_size": 256, "max_position_embeddings": 16})");
    run_file("full");
    plan_.references.push_back({"r", folder_ / "a.toml", {}});
    for (int i = 0; i < 2; ++i) {
      PlannedCell cell;
      cell.run = folder_ / "a.toml";
      cell.schedule = cell.plan.schedule = "1f1b";
      cell.plan.world = 2;
      cell.placement.ranks = 2;
      cell.placement.chunks_per_rank = 1;
      plan_.cells.push_back(cell);
    }
  }
  void run_file(const std::string& level) {
    folder_.file("a.toml", "[model]\nconfig = \"config.json\"\n[data]\nlengths = [4, 8]\n[train]\nsteps = 3\n" +
                               ("[record]\nlevel = \"" + level + "\"\n"));
  }
  DiskEstimate estimate() const { return disk_estimate(sweep_, plan_).value(); }
  double of_reference(const std::string& level) const { return record_bytes(size(), 0, 1, level); }
  double of_cell(const std::string& level) const { return record_bytes(size(), 2, 2, level); }
  RunSize size() const { return run_size(sweep_, plan_.references[0]); }

  TemporaryFolder folder_;
  SweepFile sweep_;
  SweepPlan plan_;
};

TEST_F(DiskEstimateOf, ASweepIsThatOfItsRecords) {
  EXPECT_DOUBLE_EQ(estimate().stays, of_reference("full") + 2 * of_cell("full"));
  EXPECT_EQ(estimate().passes, 0);

  run_file("summary");
  EXPECT_DOUBLE_EQ(estimate().stays, of_reference("summary") + 2 * of_cell("summary"));

  plan_.cells[1].plan.repeat = true;
  EXPECT_DOUBLE_EQ(estimate().stays, of_reference("summary") + 3 * of_cell("summary"));
}

TEST_F(DiskEstimateOf, ACalibratedOneIsOfDumpsAndOfAShadowAndLimitsBesideEachReference) {
  sweep_.calibrated = true;

  EXPECT_DOUBLE_EQ(estimate().stays, 3 * of_reference("dump") + 2 * of_cell("dump"));
}

TEST_F(DiskEstimateOf, DumpsOfAnAuditGoWhenItIsDone) {
  plan_.references[0].changes.dump = plan_.cells[1].changes.dump = true;

  EXPECT_DOUBLE_EQ(estimate().stays, of_reference("full") + 2 * of_cell("full"));
  EXPECT_DOUBLE_EQ(estimate().passes, 2 * dump_bytes(size()));
}

TEST_F(DiskEstimateOf, CommandsOfTheUsersOwnIsNotKnown) {
  sweep_.commands.emplace();

  EXPECT_FALSE(disk_estimate(sweep_, plan_));
}

}  // namespace
}  // namespace plumbline::testing
