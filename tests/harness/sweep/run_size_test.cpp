// SPDX-License-Identifier: BSD-3-Clause
// Estimates of a run's size, which determine the limit of dumps for audit, a sweep's duration and its room on disk.
#include "harness/sweep/run_size.hpp"

#include "tests/harness/matchers.hpp"

namespace plumbline::testing {
namespace {

// Every step dumps gradients, parameters and states, the start only parameters; boundary tensors are dumped forward and
// backward, at both ends, for every layer and two more.
TEST(DumpBytes, CoverAllStepsAndTheStart) {
  RunSize size;
  size.parameters = 100;
  size.tokens = 24;
  size.hidden = 4;
  size.layers = 5;
  size.steps = 3;
  size.states = 2;
  size.element_bytes = 2;

  EXPECT_EQ(dump_bytes(size), 2 * ((3 * 4 + 1) * 100 + 3 * 24 * 4 * 7 * 4));
}

// Two floating-point operations forward and four backward per parameter and token.
TEST(RoughSeconds, GrowWithRanksAndOperations) {
  RunSize size;
  size.parameters = 5e6;
  size.tokens = 500;
  size.steps = 3;

  EXPECT_DOUBLE_EQ(rough_seconds(size, 4), 0.5 + 4 * 0.15 + 3);
}

/// fixtures/models/stories260k over eight microbatches and two steps, with AdamW.
RunSize stories() {
  RunSize size;
  size.parameters = 260032;
  size.tokens = 600;
  size.microbatches = 8;
  size.steps = 2;
  size.states = 2;
  size.hidden = 64;
  size.layers = 5;
  return size;
}

TEST(DiskEstimate, GrowsWithWhatALevelWrites) {
  const auto bytes = [](const std::string& level) { return record_bytes(stories(), 4, 4, level); };

  EXPECT_LT(bytes("none"), bytes("summary"));
  EXPECT_LT(bytes("summary"), bytes("full"));
  EXPECT_LT(bytes("full") + 2 * 4 * 2 * stories().parameters, bytes("dump"));
  EXPECT_GT(record_bytes(stories(), 8, 8, "full"), bytes("full")) << "more ranks";
}

TEST(DiskEstimate, SaysWhichDiskIsTooSmall) {
  EXPECT_EQ(disk_text(70e6, "/"), "about 70 MB on disk");
  EXPECT_EQ(disk_text(1.3e9, "/"), "about 1.3 GB on disk");
  EXPECT_THAT(disk_text(1e18, "/no/such/folder/yet"), HasSubstr("and / has only"));
  EXPECT_THAT(disk_text(1, "/"), Not(HasSubstr("has only")));
}

// A reference writes its actions once and what it sends to nobody; each further rank and stage of a pipeline adds rows.
TEST(DiskEstimate, MatchesTheRowsOfARecord) {
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

}  // namespace
}  // namespace plumbline::testing
