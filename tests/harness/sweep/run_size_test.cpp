// SPDX-License-Identifier: BSD-3-Clause
// Estimates of a run's size, which determine the limit of dumps for audit and a sweep's duration.
#include "harness/sweep/run_size.hpp"

#include <gmock/gmock.h>

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

TEST_F(RunSizeOf, StatesAreTheOptimisersAndBytesThePrecisions) {
  EXPECT_EQ(size().states, 2);
  EXPECT_EQ(size().element_bytes, 4);
  train("optimizer = \"sgd\"\ndtype = \"float64\"\n");
  EXPECT_EQ(size().states, 0);
  EXPECT_EQ(size().element_bytes, 8);
  train("optimizer = \"sgd\"\nmomentum = 0.5\nprecision = \"bfloat16\"\n");
  EXPECT_EQ(size().states, 1);
  EXPECT_EQ(size().element_bytes, 2);
}

TEST_F(RunSizeOf, ARunThatCannotBeReadHasNone) {
  folder_.file("config.json", "[]");
  EXPECT_EQ(size().parameters, 0);
  reference_.run = folder_ / "b.toml";
  EXPECT_EQ(size().parameters, 0);
}

// Every step dumps gradients, parameters and states, the start only parameters; boundary tensors are dumped forward and
// backward, at both ends, for every layer and two more.
TEST(DumpBytes, AreOfAllStepsAndTheStart) {
  RunSize size;
  size.parameters = 100;
  size.tokens = 24;
  size.hidden = 4;
  size.layers = size.units = 5;
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

}  // namespace
}  // namespace plumbline::testing
