// SPDX-License-Identifier: BSD-3-Clause
// What the bounds that grow with the number of elements let through at the size of real models: records of a model of
// 80 layers with made numbers and without tensors. docs/exactness.md has the bounds as a table.
#include <gmock/gmock.h>

#include <cmath>

#include "harness/judge/audit/norm_rounding.hpp"
#include "harness/judge/audit/table_audit.hpp"
#include "harness/judge/expected/expected_model.hpp"

namespace plumbline::auditing {
namespace {

constexpr std::int64_t hidden = 8192, layers = 80;

Json model_of_70b(bool tied) {
  return {{"model_type", "llama"},       {"vocab_size", 128256},
          {"hidden_size", hidden},       {"intermediate_size", 28672},
          {"num_hidden_layers", layers}, {"num_attention_heads", 64},
          {"num_key_value_heads", 8},    {"head_dim", 128},
          {"tie_word_embeddings", tied}};
}

/// Gradients of 1e-6 an element, as after many tokens; parameters of 0.02 an element.
constexpr double gradient_size = 1e-6, parameter_size = 0.02, rate = 1e-4;

/// One step of one rank, as its tables have it.
struct RealSize {
  explicit RealSize(const std::string& dtype, const std::string& role, std::int64_t ranks) {
    record.manifest.dtype = dtype;
    record.manifest.set_role(role);
    record.manifest.clip_norm = 1e6;
    record.manifest.world_size = ranks;
    record.manifest.level = RecordLevel::full;
    if (role == "external") record.manifest.norm_order = "per_rank";
    record.manifest.json["optimizer"] = {{"name", "adamw"}, {"learning_rate", rate}, {"beta1", 0.9},
                                         {"beta2", 0.95},   {"eps", 1e-8},           {"weight_decay", 0.1}};
    record.ranks.resize(1);
    double squares = 0;
    for (const auto& parameter : judging::expected_model(model_of_70b(false)).parameters) {
      const double root = std::sqrt(static_cast<double>(element_count(parameter.shape)));
      const auto add = [&](const std::string& kind, double each) {
        TensorRow row;
        row.kind = kind;
        row.name = parameter.name;
        row.dtype = dtype;
        row.shape = parameter.shape;
        row.digest = kind + parameter.name;
        row.l2 = each * root;
        row.max_abs = static_cast<float>(each);
        record.ranks[0].tensors.push_back(row);
      };
      add("gradient", gradient_size);
      add("parameter", parameter_size);
      add("moment1", 0.1 * gradient_size);
      add("moment2", 0.05 * gradient_size * gradient_size);
      squares += gradient_size * root * gradient_size * root;
    }
    StepRow step;
    step.gradient_norm = std::sqrt(squares);
    step.clip_coefficient = 1;
    step.learning_rate = rate;
    record.ranks[0].steps.push_back(step);
    before = record.ranks;
    for (TensorRow& row : before[0].tensors) row.digest += " before";
  }

  /// Findings of one part of the audit.
  template <class Part>
  std::size_t found(Part part) const {
    const std::vector<RowsBefore> rows(1);
    Audit audit;
    part(AuditedStep(record, 0, before, rows), audit);
    return audit.findings.size();
  }
  TensorRow& row(const std::string& kind, const std::string& name) {
    for (TensorRow& one : record.ranks[0].tensors) {
      if (one.kind == kind && one.name == name) return one;
    }
    throw std::logic_error("no row");
  }

  Record record;
  std::vector<RankRecord> before;
};

constexpr const char* embedding = "model.embed_tokens.weight";

TEST(AtRealSize, ANormIsHeldToItsGradients) {
  struct Case {
    const char *dtype, *role;
    std::int64_t ranks;
    double limit, red;  ///< what the limit is at most, and a factor that is red
  };
  for (const auto& [dtype, role, ranks, limit, red] :
       {Case{"float32", "external", 16, 1.4e-3, 1.0015}, Case{"bfloat16", "external", 1, 0.014, 1.02},
        Case{"bfloat16", "external", 16, 0.021, 1.03}, Case{"bfloat16", "external", 128, 0.036, 1.05},
        Case{"float64", "external", 16, 1e-11, 1 + 1e-10}, Case{"bfloat16", "pipeline", 16, 0.021, 1 + 2e-10}}) {
    RealSize right(dtype, role, ranks), wrong(dtype, role, ranks), low(dtype, role, ranks);
    *wrong.record.ranks[0].steps[0].gradient_norm *= red;
    *low.record.ranks[0].steps[0].gradient_norm /= red;

    EXPECT_LT(norm_by_rows(right.record).value().limit, limit) << dtype << " " << ranks;
    EXPECT_EQ(right.found(audit_norms_by_l2), 0U) << dtype << " " << ranks;
    EXPECT_EQ(wrong.found(audit_norms_by_l2), 1U) << dtype << " " << ranks;
    EXPECT_EQ(low.found(audit_norms_by_l2), 1U) << dtype << " " << ranks;
  }
}

TEST(AtRealSize, TheAccumulationOfTheLargestEmbeddingStaysBelowAThousandth) {
  EXPECT_LT(norm_rounding({.dtype = "float32", .tensors = 1, .largest = 131072.0 * 4096}), 1e-3);
}

TEST(AtRealSize, AFirstMomentFollowsFromItsGradient) {
  for (const auto& [dtype, share] : {std::pair("float32", 1e-5), std::pair("bfloat16", 0.03)}) {
    RealSize run(dtype, "pipeline", 1);
    EXPECT_EQ(run.found(audit_first_moments), 0U) << dtype;
    run.row("moment1", embedding).l2 *= 1 + share;
    EXPECT_EQ(run.found(audit_first_moments), 1U) << dtype;
  }
}

TEST(AtRealSize, AMomentInFloat64MayHaveALargestElementThatNoFloat32Holds) {
  struct Case {
    float gradient, moment1, moment2, wrong;
  };
  for (const auto& [gradient, moment1, moment2, wrong] :
       {Case{1e-22F, 1e-23F, 0, 3e-45F}, Case{1e20F, 1e19F, INFINITY, 3e38F}}) {
    RealSize run("float64", "pipeline", 1);
    run.row("gradient", embedding).max_abs = gradient;
    run.row("moment1", embedding).max_abs = moment1;
    run.row("moment2", embedding).max_abs = moment2;
    EXPECT_EQ(run.found(audit_first_moments), 0U) << gradient;
    run.row("moment2", embedding).max_abs = wrong;
    EXPECT_EQ(run.found(audit_first_moments), 1U) << gradient;
  }
}

// Its sizes grow as the root of the elements on both sides, so that what a tensor may keep does not depend on its size.
TEST(AtRealSize, ATensorThatTheStepMovesHasOtherBits) {
  for (const char* kind : {"moment1", "parameter"}) {
    RealSize run("float32", "pipeline", 1);
    for (TensorRow& row : run.before[0].tensors) {
      if (row.kind.starts_with("moment")) row.l2 = 0, row.max_abs = 0;
    }
    EXPECT_EQ(run.found(audit_still_tensors), 0U) << kind;
    for (TensorRow& row : run.before[0].tensors) {
      if (row.kind == kind && row.name == embedding) row.digest = run.row(kind, embedding).digest;
    }
    EXPECT_EQ(run.found(audit_still_tensors), 1U) << kind;
  }
}

}  // namespace
}  // namespace plumbline::auditing
