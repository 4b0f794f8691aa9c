// SPDX-License-Identifier: BSD-3-Clause
#include "pipeline/partition.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <limits>
#include <sstream>

#include "model/flops.hpp"
#include "model/unit.hpp"
#include "support/error.hpp"
#include "tests/approved.hpp"
#include "tests/split.hpp"

namespace plumbline {
namespace {

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

PipelineSettings by(const std::string& name) {
  PipelineSettings settings;
  settings.partition = name;
  return settings;
}

std::vector<std::int64_t> integers(const std::string& text) {
  std::vector<std::int64_t> numbers;
  for (const std::string& number : testing::split(text, ',')) numbers.push_back(std::stoll(number));
  return numbers;
}

// Cases are lines "PARTITION stages=N", with layers= (5), vocabulary=, rows= and balance=. `benchmark`: the model of
// the benchmarks, with 7 layers and an expensive head. The answer has the layers of each stage; the ends hold the
// embedding, and the norm with the head.
TEST(Partition, IsAsApproved) {
  testing::expect_answers("partitions.txt", [](const std::string& input) {
    std::string answers;
    std::istringstream lines(input);
    for (std::string line; std::getline(lines, line);) {
      std::istringstream words(line);
      std::string name;
      words >> name;
      PipelineSettings settings = by(name);
      LlamaConfig config = model(5);
      std::vector<std::int64_t> rows = {64};
      std::int32_t stages = 1;
      for (std::string word; words >> word;) {
        const std::string value = word.substr(word.find('=') + 1);
        if (word.starts_with("stages=")) stages = std::stoi(value);
        if (word.starts_with("layers=")) config.layers = std::stoll(value);
        if (word.starts_with("vocabulary=")) config.vocab_size = std::stoll(value);
        if (word.starts_with("rows=")) rows = integers(value);
        if (word.starts_with("balance=")) settings.balance = integers(value);
        if (word != "benchmark") continue;
        config = model(7);
        config.vocab_size = 4096, config.hidden_size = 256, config.intermediate_size = 688, config.head_dim = 32;
      }
      std::string layers;
      try {
        for (const UnitRange& range : partition(config, settings, stages, rows))
          layers += (layers.empty() ? "" : " ") + std::to_string(count(config, range, UnitKind::layer));
      } catch (const InputError& error) {
        layers = std::string("refused: ") + error.what();
      }
      answers += (answers.empty() ? "" : "\n") + layers;
    }
    return answers;
  });
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
