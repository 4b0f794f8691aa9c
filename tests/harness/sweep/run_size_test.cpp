// SPDX-License-Identifier: BSD-3-Clause
// Estimates of a run's size, which determine the limit of dumps for audit, a sweep's duration and its room on disk.
#include "harness/sweep/run_size.hpp"

#include "tests/harness/matchers.hpp"
#include "tests/temporary_folder.hpp"

namespace plumbline::testing {
namespace {

class RunSizeOf : public ::testing::Test {
 protected:
  RunSizeOf() {
    model("");
    train("");
  }
  void model(const std::string& more) {
    folder_.file("config.json", R"({"architectures": ["LlamaForCausalLM"], "hidden_act": "silu", "hidden_size": 4,
      "intermediate_size": 6, "num_attention_heads": 2, "num_hidden_layers": 5, "rms_norm_eps": 1e-5,
      "vocab_size": 256, "max_position_embeddings": 16)" +
                                    more + "}");
  }
  void train(const std::string& keys) {
    reference_.run = folder_.file(
        "a.toml",
        "[model]\nconfig = \"config.json\"\n[data]\nlengths = [4, [8, 2]]\nbatch = 2\n[train]\nsteps = 3\n" + keys);
  }
  RunSize size() const { return run_size({}, reference_); }

  TemporaryFolder folder_;
  PlannedReference reference_;
};

// Per layer: queries and output 2 x 4 x 4, keys and values the same if every head has its own, the MLP 3 x 4 x 6, two
// norms of 4. Besides the layers: the embedding and the head of 256 x 4 each, and a norm of 4.
TEST_F(RunSizeOf, ParametersAreTheModels) {
  EXPECT_EQ(size().parameters, 5 * (32 + 32 + 72 + 8) + 2 * 1024 + 4);
  model(R"(, "num_key_value_heads": 1)");
  EXPECT_EQ(size().parameters, 5 * (32 + 16 + 72 + 8) + 2 * 1024 + 4) << "two heads share keys and values";
  model(R"(, "tie_word_embeddings": true)");
  EXPECT_EQ(size().parameters, 5 * (32 + 32 + 72 + 8) + 1024 + 4) << "one weight is both";
}

TEST_F(RunSizeOf, TokensArePaddedToTheLongestRowOfTheirMicrobatch) {
  EXPECT_EQ(size().tokens, 2 * 4 + 2 * 8);
  EXPECT_EQ(size().microbatches, 2);
  EXPECT_EQ(size().steps, 3);
  EXPECT_EQ(size().hidden, 4);
  EXPECT_EQ(size().layers, 5);
}

TEST_F(RunSizeOf, StatesAreTheOptimizersAndBytesThePrecisions) {
  EXPECT_EQ(size().states, 2);
  EXPECT_EQ(size().element_bytes, 4);
  train("optimizer = \"sgd\"\ndtype = \"float64\"\n");
  EXPECT_EQ(size().states, 0);
  EXPECT_EQ(size().element_bytes, 8);
  train("optimizer = \"sgd\"\nmomentum = 0.5\nprecision = \"bfloat16\"\n");
  EXPECT_EQ(size().states, 1);
  EXPECT_EQ(size().element_bytes, 2);
}

TEST_F(RunSizeOf, AnUnreadableRunHasNoSize) {
  folder_.file("config.json", "[]");
  EXPECT_EQ(size().parameters, 0);
  reference_.run = folder_ / "b.toml";
  EXPECT_EQ(size().parameters, 0);
}

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

/// A reference and two cells of it on two ranks.
class DiskEstimateOf : public RunSizeOf {
 protected:
  DiskEstimateOf() {
    plan_.references.push_back({"r", reference_.run, {}});
    for (int i = 0; i < 2; ++i) {
      PlannedCell cell;
      cell.run = reference_.run;
      cell.schedule = cell.plan.schedule = "1f1b";
      cell.plan.world = 2;
      cell.placement.ranks = 2;
      cell.placement.chunks_per_rank = 1;
      plan_.cells.push_back(cell);
    }
  }
  double estimate() const { return disk_estimate(sweep_, plan_).value(); }
  double of_reference(const std::string& level) const { return record_bytes(size(), 0, 1, level); }
  double of_cell(const std::string& level) const { return record_bytes(size(), 2, 2, level); }

  SweepFile sweep_;
  SweepPlan plan_;
};

TEST_F(DiskEstimateOf, ASweepIsTheSumOfItsRecords) {
  EXPECT_DOUBLE_EQ(estimate(), of_reference("full") + 2 * of_cell("full"));

  train("[record]\nlevel = \"summary\"\n");
  EXPECT_DOUBLE_EQ(estimate(), of_reference("summary") + 2 * of_cell("summary"));

  plan_.cells[1].plan.repeat = true;
  EXPECT_DOUBLE_EQ(estimate(), of_reference("summary") + 3 * of_cell("summary"));
}

TEST_F(DiskEstimateOf, ACalibratedSweepIncludesDumpsFloat64ReferencesAndLimits) {
  sweep_.calibrated = true;

  EXPECT_DOUBLE_EQ(estimate(), 3 * of_reference("dump") + 2 * of_cell("dump"));
}

TEST_F(DiskEstimateOf, UserCommandsIsUnknown) {
  sweep_.commands.emplace();

  EXPECT_FALSE(disk_estimate(sweep_, plan_));
}

}  // namespace
}  // namespace plumbline::testing
