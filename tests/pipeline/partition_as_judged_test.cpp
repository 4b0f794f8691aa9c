// SPDX-License-Identifier: BSD-3-Clause
// The judge's partition compared with the trainers': two implementations of one rule, so that an error in one is
// detected.
#include <gtest/gtest.h>

#include "harness/judge/expected/model.hpp"
#include "model/unit.hpp"
#include "pipeline/partition.hpp"

namespace plumbline {
namespace {

LlamaConfig trainers_model(std::int64_t layers, std::int64_t vocabulary) {
  LlamaConfig config;
  config.vocab_size = vocabulary;
  config.hidden_size = 64;
  config.intermediate_size = 172;
  config.layers = layers;
  config.heads = 8;
  config.kv_heads = 4;
  config.head_dim = 8;
  return config;
}

judging::ExpectedModel judges_model(std::int64_t layers, std::int64_t vocabulary) {
  return judging::expected_model(Json{{"vocab_size", vocabulary},
                                      {"hidden_size", 64},
                                      {"intermediate_size", 172},
                                      {"num_hidden_layers", layers},
                                      {"num_attention_heads", 8},
                                      {"num_key_value_heads", 4},
                                      {"rms_norm_eps", 1e-5}});
}

using Units = std::vector<std::vector<std::string>>;

Units trained(std::int64_t layers, std::int64_t vocabulary, const PipelineSettings& settings, std::int32_t stages,
              const std::vector<std::int64_t>& rows) {
  const LlamaConfig config = trainers_model(layers, vocabulary);
  const auto names = unit_names(config);
  Units units;
  for (const UnitRange& range : partition(config, settings, stages, rows))
    units.emplace_back(names.begin() + range.first, names.begin() + range.end);
  return units;
}

TEST(PartitionAsJudged, UniformAgreesForUpTo24LayersOn16Stages) {
  PipelineSettings settings;
  settings.partition = "uniform";
  for (std::int64_t layers = 1; layers <= 24; ++layers) {
    for (std::int32_t stages = 1; stages <= 16; ++stages) {
      EXPECT_EQ(judging::requested_partition(judges_model(layers, 512), {"uniform", {}}, stages, {8}),
                trained(layers, 512, settings, stages, {8}))
          << layers << " layers, " << stages << " stages";
    }
  }
}

TEST(PartitionAsJudged, CostAgreesWithSmallAndLargeHeads) {
  PipelineSettings settings;
  settings.partition = "cost";
  for (const std::int64_t vocabulary : {32, 512, 4096, 65536}) {
    for (const auto& rows : {std::vector<std::int64_t>{8}, {1, 300, 17}, {4096, 4096}}) {
      for (std::int64_t layers = 1; layers <= 12; ++layers) {
        for (std::int32_t stages = 1; stages <= 10; ++stages) {
          EXPECT_EQ(judging::requested_partition(judges_model(layers, vocabulary), {"cost", {}}, stages, rows),
                    trained(layers, vocabulary, settings, stages, rows))
              << layers << " layers, " << stages << " stages, vocabulary " << vocabulary;
        }
      }
    }
  }
}

TEST(PartitionAsJudged, ABalanceAgrees) {
  PipelineSettings settings;
  settings.partition = "balance";
  settings.balance = {2, 0, 3};

  EXPECT_EQ(judging::requested_partition(judges_model(5, 512), {"", {2, 0, 3}}, 3, {8}),
            trained(5, 512, settings, 3, {8}));
}

}  // namespace
}  // namespace plumbline
