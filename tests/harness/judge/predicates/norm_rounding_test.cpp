// SPDX-License-Identifier: BSD-3-Clause
// What the limits that grow with the number of elements let through at real sizes, on records of a model of 80 layers
// with made-up numbers and without tensors. docs/exactness.md has the limits as a table.
#include <gmock/gmock.h>

#include <cmath>

#include "harness/judge/expected/model.hpp"
#include "harness/judge/predicates/forms.hpp"
#include "harness/judge/predicates/predicates.hpp"

namespace plumbline::predicates {
namespace {

constexpr std::int64_t hidden = 8192, layers = 80;

Json model_of_70b(bool tied) {
  return {{"model_type", "llama"},       {"vocab_size", 128256},
          {"hidden_size", hidden},       {"intermediate_size", 28672},
          {"num_hidden_layers", layers}, {"num_attention_heads", 64},
          {"num_key_value_heads", 8},    {"head_dim", 128},
          {"tie_word_embeddings", tied}};
}

/// The size of an element, as after many tokens.
constexpr double gradient_size = 1e-6;

/// One step of one rank, as in its tables.
struct RealSize {
  explicit RealSize(const std::string& dtype, const std::string& role, std::int64_t ranks) {
    record.manifest.dtype = dtype;
    record.manifest.set_role(role);
    record.manifest.clip_norm = 1e6;
    record.manifest.world_size = ranks;
    record.manifest.level = RecordLevel::full;
    if (role == "external") record.manifest.norm_order = "per_rank";
    record.ranks.resize(1);
    double squares = 0;
    for (const auto& parameter : judging::expected_model(model_of_70b(false)).parameters) {
      TensorRow row;
      row.kind = "gradient";
      row.name = parameter.name;
      row.dtype = dtype;
      row.shape = parameter.shape;
      row.l2 = gradient_size * std::sqrt(static_cast<double>(element_count(parameter.shape)));
      squares += row.l2 * row.l2;
      record.ranks[0].tensors.push_back(row);
    }
    StepRow step;
    step.gradient_norm = std::sqrt(squares);
    record.ranks[0].steps.push_back(step);
  }

  std::size_t found() const {
    Report report;
    norm_of_gradients(RecordStep(record, 0, std::vector<RowsBefore>(1)), report);
    return report.findings.size();
  }

  Record record;
};

TEST(AtRealSize, ANormMustFollowFromItsGradients) {
  struct Case {
    const char *dtype, *role;
    std::int64_t ranks;
    double limit, red;  ///< the largest allowed limit, and a factor that must fail
  };
  for (const auto& [dtype, role, ranks, limit, red] :
       {Case{"float32", "external", 16, 1.4e-3, 1.0015}, Case{"bfloat16", "external", 1, 0.014, 1.02},
        Case{"bfloat16", "external", 16, 0.021, 1.03}, Case{"bfloat16", "external", 128, 0.036, 1.05},
        Case{"float64", "external", 16, 1e-11, 1 + 1e-10}, Case{"bfloat16", "pipeline", 16, 0.021, 1 + 2e-10}}) {
    RealSize right(dtype, role, ranks), wrong(dtype, role, ranks), low(dtype, role, ranks);
    *wrong.record.ranks[0].steps[0].gradient_norm *= red;
    *low.record.ranks[0].steps[0].gradient_norm /= red;

    EXPECT_LT(norm_by_rows(right.record).value().limit, limit) << dtype << " " << ranks;
    EXPECT_EQ(right.found(), 0U) << dtype << " " << ranks;
    EXPECT_EQ(wrong.found(), 1U) << dtype << " " << ranks;
    EXPECT_EQ(low.found(), 1U) << dtype << " " << ranks;
  }
}

TEST(AtRealSize, AccumulationErrorOfTheLargestEmbeddingIsBelowAThousandth) {
  EXPECT_LT(norm_rounding({.dtype = "float32", .tensors = 1, .largest = 131072.0 * 4096}), 1e-3);
}

TensorRow gradient_of(const std::string& name, std::int64_t stage) {
  TensorRow row;
  row.kind = "gradient";
  row.name = name;
  row.stage = stage;
  return row;
}

/// Two ranks with two of four stages each: 0 and 3, 1 and 2. `tied`: names of one weight.
std::vector<std::string> counted(const std::vector<std::vector<std::string>>& tied, const std::string& embedding) {
  Record record;
  record.manifest.tied = tied;
  record.ranks.resize(2);
  record.ranks[0].tensors = {gradient_of(embedding, 0), gradient_of("head", 3)};
  record.ranks[1].rank = 1;
  record.ranks[1].tensors = {gradient_of("layer", 1), gradient_of("copy", 2), gradient_of("layer", 2)};
  record.ranks[1].tensors.push_back(gradient_of("layer", 1));
  record.ranks[1].tensors.back().kind = "moment1";
  std::vector<std::string> names;
  for (const auto& [rank, row] : gradients_once(record)) names.push_back(std::to_string(rank) + " " + row->name);
  return names;
}

TEST(GradientsOnce, ATiedWeightCountsAsTheEmbeddingOrTheFirst) {
  using ::testing::ElementsAre;
  EXPECT_THAT(counted({}, "embed"), ElementsAre("0 embed", "0 head", "1 layer", "1 copy"));
  const std::string embedding = "model.embed_tokens.weight";
  EXPECT_THAT(counted({{"head", embedding, "copy"}}, embedding), ElementsAre("0 " + embedding, "1 layer"));
  EXPECT_THAT(counted({{"absent", "embed", "copy"}}, "embed"), ElementsAre("0 embed", "0 head", "1 layer"));
}

// If each of 1,000 ranks rounds to bfloat16, rounding errors may change a norm by more than a fault of factor 1.05.
TEST(NormRounding, OfBfloat16OnManyRanksIsTooImpreciseToJudge) {
  EXPECT_GT(norm_rounding({.dtype = "bfloat16", .ranks = 1000}), widest_norm_limit);
}

}  // namespace
}  // namespace plumbline::predicates
