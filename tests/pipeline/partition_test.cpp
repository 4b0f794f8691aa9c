// SPDX-License-Identifier: BSD-3-Clause
#include "pipeline/partition.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <limits>

#include "model/flops.hpp"
#include "model/unit.hpp"
#include "support/error.hpp"
#include "tests/temporary_folder.hpp"

namespace plumbline {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

using Cut = std::vector<std::pair<std::int64_t, std::int64_t>>;

LlamaConfig model(std::int64_t layers) {
  LlamaConfig config;
  config.vocab_size = 512;
  config.hidden_size = 64;
  config.intermediate_size = 172;
  config.layers = layers;
  config.heads = 8;
  config.kv_heads = 4;
  config.head_dim = 8;
  return config;
}

PipelineSettings by(const std::string& name, std::vector<std::int64_t> balance = {}) {
  PipelineSettings settings;
  settings.partition = name;
  settings.balance = std::move(balance);
  return settings;
}

Cut cut(const LlamaConfig& config, const PipelineSettings& settings, std::int32_t stages,
        const std::vector<std::int64_t>& row_lengths = {64}) {
  Cut found;
  for (const UnitRange& range : partition(config, settings, stages, row_lengths))
    found.push_back({range.first, range.end});
  return found;
}

std::string fault(const PipelineSettings& settings, std::int32_t stages) {
  return testing::error_of<InputError>([&] { cut(model(5), settings, stages); });
}

// Units of five layers: 0 embed_tokens, 1..5 layers, 6 norm, 7 lm_head.
TEST(PartitionUniform, FiveLayersOnOneToEightStages) {
  const LlamaConfig five = model(5);
  const PipelineSettings uniform = by("uniform");

  EXPECT_EQ(cut(five, uniform, 1), (Cut{{0, 8}}));
  EXPECT_EQ(cut(five, uniform, 2), (Cut{{0, 4}, {4, 8}}));
  EXPECT_EQ(cut(five, uniform, 3), (Cut{{0, 3}, {3, 5}, {5, 8}}));
  EXPECT_EQ(cut(five, uniform, 4), (Cut{{0, 3}, {3, 4}, {4, 5}, {5, 8}}));
  EXPECT_EQ(cut(five, uniform, 5), (Cut{{0, 2}, {2, 3}, {3, 4}, {4, 5}, {5, 8}}));
  EXPECT_EQ(cut(five, uniform, 6), (Cut{{0, 1}, {1, 2}, {2, 3}, {3, 4}, {4, 5}, {5, 8}}));
  EXPECT_EQ(cut(five, uniform, 7), (Cut{{0, 1}, {1, 2}, {2, 3}, {3, 4}, {4, 5}, {5, 6}, {6, 8}}));
  EXPECT_EQ(cut(five, uniform, 8), (Cut{{0, 1}, {1, 2}, {2, 3}, {3, 4}, {4, 5}, {5, 6}, {6, 6}, {6, 8}}));
}

TEST(PartitionBalance, AcceptsZeros) {
  const LlamaConfig five = model(5);

  EXPECT_EQ(cut(five, by("balance", {2, 0, 3}), 3), (Cut{{0, 3}, {3, 3}, {3, 8}}));
  EXPECT_EQ(cut(five, by("balance", {0, 5}), 2), (Cut{{0, 1}, {1, 8}}));
  EXPECT_EQ(cut(five, by("balance", {5, 0}), 2), (Cut{{0, 6}, {6, 8}}));
  EXPECT_EQ(cut(five, by("balance", {3, 0, 0, 2}), 4), (Cut{{0, 4}, {4, 4}, {4, 4}, {4, 8}}));
  EXPECT_EQ(cut(five, by("balance", {0, 0, 5, 0}), 4), (Cut{{0, 1}, {1, 1}, {1, 6}, {6, 8}}));
  EXPECT_EQ(cut(five, by("balance", {5}), 1), (Cut{{0, 8}}));
}

TEST(PartitionBalance, NamesAWrongSum) {
  EXPECT_THAT(fault(by("balance", {2, 2}), 2), AllOf(HasSubstr("[2, 2] adds up to 4"), HasSubstr("the model has 5")));
  EXPECT_THAT(fault(by("balance", {2, 0, 3}), 2), AllOf(HasSubstr("3 numbers for 2 stages")));
  EXPECT_THAT(fault(by("balance", {6, -1}), 2), HasSubstr("6 is not a number of layers from 0 to 5"));
  EXPECT_THAT(fault(by("balance", {-1, 5}), 2), HasSubstr("-1 is not a number of layers"));
}

TEST(Partition, RefusesUnknownPartitions) {
  EXPECT_THAT(fault(by("uniform"), 0), HasSubstr("at least 1"));
  EXPECT_THAT(fault(by("even"), 2), AllOf(HasSubstr("\"even\""), HasSubstr("uniform, cost")));
}

LlamaConfig benchmark_model() {
  LlamaConfig config;
  config.vocab_size = 4096;
  config.hidden_size = 256;
  config.intermediate_size = 688;
  config.layers = 7;
  config.heads = 8;
  config.kv_heads = 4;
  config.head_dim = 32;
  return config;
}

TEST(PartitionCost, BenchmarkModelIsFourLayersAgainstThreeAndTheHead) {
  EXPECT_EQ(cut(benchmark_model(), by("cost"), 2, {128}), (Cut{{0, 5}, {5, 10}}));
}

TEST(PartitionCost, AnExpensiveHeadIsAloneAndACheapOneSharesItsStageWithLayers) {
  LlamaConfig expensive = model(4), cheap = model(6);
  expensive.vocab_size = 50000;
  cheap.vocab_size = 2;
  EXPECT_EQ(cut(expensive, by("cost"), 3), (Cut{{0, 3}, {3, 5}, {5, 7}}));
  EXPECT_EQ(cut(cheap, by("cost"), 3), (Cut{{0, 3}, {3, 5}, {5, 9}}));
}

TEST(PartitionCost, OneStageAndMoreStagesThanLayers) {
  EXPECT_EQ(cut(model(5), by("cost"), 1), (Cut{{0, 8}}));
  EXPECT_EQ(cut(benchmark_model(), by("cost"), 10, {128}),
            (Cut{{0, 1}, {1, 2}, {2, 3}, {3, 4}, {4, 5}, {5, 6}, {6, 7}, {7, 8}, {8, 8}, {8, 10}}));
}

// Long rows make attention, and so a layer, more expensive relative to the head: the partition follows.
TEST(PartitionCost, CountsAttentionOfLongRows) {
  EXPECT_EQ(cut(benchmark_model(), by("cost"), 2, {128, 128}), (Cut{{0, 5}, {5, 10}}));
  EXPECT_EQ(cut(benchmark_model(), by("cost"), 3, {128}), (Cut{{0, 4}, {4, 7}, {7, 10}}));
  EXPECT_EQ(cut(benchmark_model(), by("cost"), 3, {4096}), (Cut{{0, 4}, {4, 6}, {6, 10}}));
}

/// Largest stage of the best partition, by trying all of them.
double least_largest_of_all(const LlamaConfig& config, std::int32_t stages, const std::vector<std::int64_t>& rows) {
  double least = std::numeric_limits<double>::infinity();
  const double layer = layer_flops(config, rows);
  const std::function<void(std::int32_t, std::int64_t, double)> place = [&](std::int32_t stage, std::int64_t left,
                                                                            double largest) {
    if (stage + 1 == stages) {
      least = std::min(least, std::max(largest, static_cast<double>(left) * layer + head_flops(config, rows)));
      return;
    }
    for (std::int64_t here = 0; here <= left; ++here) {
      place(stage + 1, left - here, std::max(largest, static_cast<double>(here) * layer));
    }
  };
  place(0, config.layers, 0);
  return least;
}

TEST(PartitionCost, MinimizesTheLargestStage) {
  for (const std::int64_t vocabulary : {2, 300, 1500, 5000, 50000}) {
    for (std::int64_t layers = 1; layers <= 7; ++layers) {
      for (std::int32_t stages = 1; stages <= 6; ++stages) {
        LlamaConfig config = model(layers);
        config.vocab_size = vocabulary;
        const std::vector<std::int64_t> rows = {33, 64, 1};
        double largest = 0;
        const std::vector<UnitRange> ranges = partition(config, by("cost"), stages, rows);
        for (const UnitRange& range : ranges) {
          const std::int64_t first_layer = std::max<std::int64_t>(range.first, 1);
          const std::int64_t layers_here = std::max<std::int64_t>(std::min(range.end, layers + 1) - first_layer, 0);
          const double head = range.end == layers + 3 ? head_flops(config, rows) : 0;
          largest = std::max(largest, static_cast<double>(layers_here) * layer_flops(config, rows) + head);
        }
        EXPECT_EQ(largest, least_largest_of_all(config, stages, rows))
            << "vocabulary " << vocabulary << ", layers " << layers << ", stages " << stages;
      }
    }
  }
}

TEST(Partition, EveryUnitOnceInOrderWithTheEndsInPlace) {
  for (const char* name : {"uniform", "cost"}) {
    for (std::int64_t layers = 1; layers <= 9; ++layers) {
      for (std::int32_t stages = 1; stages <= 12; ++stages) {
        SCOPED_TRACE(std::string(name) + " layers " + std::to_string(layers) + " stages " + std::to_string(stages));
        const std::vector<UnitRange> ranges = partition(model(layers), by(name), stages, {64, 7});
        ASSERT_EQ(ranges.size(), static_cast<std::size_t>(stages));
        EXPECT_EQ(ranges.front().first, 0);
        EXPECT_GE(ranges.front().size(), 1);
        EXPECT_EQ(ranges.back().end, layers + 3);
        EXPECT_GE(ranges.back().size(), 2);
        for (std::size_t s = 1; s < ranges.size(); ++s) EXPECT_EQ(ranges[s].first, ranges[s - 1].end);
      }
    }
  }
}

// 10 tokens, hidden 2, one head of 3 with as many keys, intermediate 5, vocabulary 7: small enough to count by hand.
TEST(PartitionCost, FlopsByHand) {
  LlamaConfig config;
  config.hidden_size = 2;
  config.heads = config.kv_heads = 1;
  config.head_dim = 3;
  config.intermediate_size = 5;
  config.vocab_size = 7;

  // 10 tokens x 2 x (4 projections of 2x3 + 3 of 2x5) + rows of 4 and 6: 2 x (16 + 36) x 3
  EXPECT_EQ(layer_flops(config, {4, 6}), 10 * 2 * (4 * 6 + 3 * 10) + 2 * (16 + 36) * 3);
  EXPECT_EQ(head_flops(config, {4, 6}), 10 * (2 * 14 + 4 * 2 + 5 * 7));
}

}  // namespace
}  // namespace plumbline
