// SPDX-License-Identifier: BSD-3-Clause
// Norms that are summed rank by rank, whose roundings give two right runs other clip coefficients.
#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <optional>
#include <tuple>
#include <vector>

#include "harness/judge/judge.hpp"
#include "support/hash.hpp"
#include "tests/harness/judge/synthetic_run.hpp"

namespace plumbline::testing {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

/// The candidate, or the reference, sums its norm rank by rank, and in this step the two clip by other coefficients.
struct PartingCell : SyntheticCell {
  explicit PartingCell(std::size_t step, bool of_candidate = true) {
    for (auto* run : {&reference, &candidate}) {
      for (auto& rank : run->ranks) {
        const double times = 2.0 / rank.steps[step].gradient_norm.value();  // the norm is that of the gradients
        for (auto& row : rank.tensors)
          if (row.kind == "gradient" && row.step == static_cast<std::int64_t>(step)) row.l2 *= times;
      }
      clip(*run, step, 2.0);
    }
    auto& run = of_candidate ? candidate : reference;
    run.manifest["role"] = "external";
    run.manifest["norm_order"] = "per_rank";
    clip(run, step, std::nextafter(2.0, 3.0));
  }

  static void clip(SyntheticRun& run, std::size_t step, double norm) {
    for (auto& rank : run.ranks) rank.steps[step].gradient_norm = norm, rank.steps[step].clip_coefficient = 1 / norm;
  }
};

TEST(NormByRank, ValuesAreComparedUpToTheStepWhoseCoefficientsPart) {
  for (const bool of_candidate : {true, false}) {
    PartingCell cell(0, of_candidate);
    tensor_row(cell.candidate, 0, "parameter", "model.norm.weight").digest = other_digest;
    tensor_row(cell.candidate, 1, "gradient", "model.norm.weight").digest = other_digest;

    const CellVerdict verdict = cell.judge();

    EXPECT_THAT(with_outcome(verdict, Outcome::fails), IsEmpty());
    for (const char* name : {"loss", "boundaries", "gradients", "parameters"}) {
      EXPECT_THAT(result_of(verdict, name).reason,
                  HasSubstr(", up to the norm of step 0: there clip coefficients differ"))
          << name;
      EXPECT_THAT(result_of(verdict, name).not_shown, Contains(HasSubstr("values after the norm of step 0"))) << name;
    }
    EXPECT_THAT(result_of(verdict, "gradients").reason, HasSubstr("1 step are")) << "that step's too";
    for (const char* name : {"data", "census", "memory", "conformance"})
      EXPECT_THAT(result_of(verdict, name).reason, ::testing::Not(HasSubstr("up to the norm"))) << name;
  }
}

TEST(NormByRank, BehindThatStepWhatNoRoundingExplainsFails) {
  const auto parameter = [](PartingCell& cell, std::int64_t step) -> TensorRow& {
    return tensor_row(cell.candidate, step, "parameter", "model.norm.weight");
  };
  const std::vector<std::tuple<const char*, const char*, std::function<void(PartingCell&)>>> faults = {
      {"another rate", "parameters", [](auto& cell) { cell.candidate.ranks[1].steps[0].learning_rate = 0.5; }},
      {"a skipped update", "parameters", [&](auto& cell) { parameter(cell, 0).digest = parameter(cell, -1).digest; }},
      {"a larger parameter", "parameters",
       [&](auto& cell) { parameter(cell, 0).digest = other_digest, parameter(cell, 0).l2 *= 3; }},
      {"gradients of two steps", "gradients",
       [](auto& cell) {
         TensorRow& row = tensor_row(cell.candidate, 1, "gradient", "model.norm.weight");
         row.digest = other_digest, row.l2 *= 2;
       }},
      {"a norm that is not its gradients'", "gradient_norm",
       [](auto& cell) { PartingCell::clip(cell.candidate, 1, 1.1 * *cell.candidate.ranks[0].steps[1].gradient_norm); }},
  };
  for (const auto& [name, check, fault] : faults) {
    PartingCell cell(0);
    fault(cell);

    EXPECT_THAT(with_outcome(cell.judge(), Outcome::fails), Contains(check)) << name;
  }
}

TEST(NormByRank, TheGradientsOfThatStepAndTheStartAreStillCompared) {
  PartingCell gradient(0), start(0), data(0);
  tensor_row(gradient.candidate, 0, "gradient", "model.norm.weight").digest = other_digest;
  tensor_row(start.candidate, -1, "parameter", "model.norm.weight").digest = other_digest;
  for (auto& rank : data.candidate.ranks) rank.microbatches.back().data_digest = other_digest;

  EXPECT_THAT(with_outcome(gradient.judge(), Outcome::fails), ElementsAre("gradients"));
  EXPECT_THAT(with_outcome(start.judge(), Outcome::fails), ElementsAre("parameters"));
  EXPECT_THAT(with_outcome(data.judge(), Outcome::fails), Contains("data")) << "of a later step";
}

TEST(NormByRank, TheUpdatesBeforeThatStepAreStillCompared) {
  PartingCell cell(1);
  tensor_row(cell.candidate, 0, "parameter", "model.norm.weight").digest = other_digest;
  EXPECT_THAT(with_outcome(cell.judge(), Outcome::fails), ElementsAre("parameters"));
}

// The trainer computes its coefficient otherwise than the recorder does, from a norm that differs.
TEST(NormByRank, OtherNormsOfOneCoefficientAreTheStepTooIfTheUpdateDiffers) {
  for (const bool differs : {true, false}) {
    PartingCell cell(0);
    for (auto& rank : cell.candidate.ranks) rank.steps[0].clip_coefficient = 0.5;
    for (auto* run : {&cell.reference, &cell.candidate}) run->manifest["clip_norm"] = 1.0;
    if (differs) tensor_row(cell.candidate, 0, "parameter", "model.norm.weight").digest = other_digest;

    EXPECT_EQ(cell.judge().norm_diverged_at, differs ? std::optional<std::int64_t>(0) : std::nullopt);
  }
}

/// Both sum their norms rank by rank, and no norm is recorded of the candidate. By its gradients the first step clips.
struct UnrecordedNormCell : PartingCell {
  UnrecordedNormCell() : PartingCell(0) {
    for (auto& rank : candidate.ranks)
      for (StepRow& row : rank.steps) row.gradient_norm.reset(), row.clip_coefficient.reset();
    candidate.manifest["not_recorded"].push_back({{"what", "norm"}, {"why", "the trainer clips by itself"}});
    for (TensorRow& row : candidate.rows(&RankRecord::tensors))
      if ((row.step == 0 && row.kind != "gradient") || row.step > 0) row.digest = hash_hex(row.digest);
  }
};

TEST(NormByRank, AStepThatClipsByAnUnrecordedNormIsItsStep) {
  UnrecordedNormCell cell;

  const CellVerdict verdict = cell.judge();

  EXPECT_THAT(with_outcome(verdict, Outcome::fails), IsEmpty()) << result_of(verdict, "parameters").reason;
  EXPECT_EQ(verdict.norm_diverged_at, 0);
  EXPECT_THAT(
      result_of(verdict, "parameters").reason,
      HasSubstr(
          "up to the norm of step 0: there clip coefficients may differ by the roundings of a norm that was not"));
}

TEST(NormByRank, WhatRoundingsOfAnUnrecordedNormDoNotExplainFails) {
  const auto row = [](SyntheticCell& cell, const char* kind) -> TensorRow& {
    return tensor_row(cell.candidate, 0, kind, "model.norm.weight");
  };
  const std::vector<std::tuple<const char*, std::function<void(SyntheticCell&)>>> faults = {
      {"a gradient", [&](auto& cell) { row(cell, "gradient").digest = other_digest; }},
      {"another coefficient", [&](auto& cell) { row(cell, "moment1").l2 *= 1.1; }},
      {"a skipped update",
       [&](auto& cell) {
         row(cell, "parameter").digest = tensor_row(cell.candidate, -1, "parameter", "model.norm.weight").digest;
       }},
      {"a limit that does not act",
       [](auto& cell) { cell.candidate.manifest["clip_norm"] = cell.reference.manifest["clip_norm"] = 3.0; }},
      {"no moments to show the coefficient", [](auto& cell) {
         for (auto* run : {&cell.reference, &cell.candidate}) {
           run->manifest["optimizer"] = {
               {"name", "sgd"}, {"learning_rate", 0.001}, {"momentum", 0.0}, {"weight_decay", 0.0}};
           for (auto& rank : run->ranks)
             std::erase_if(rank.tensors, [](const TensorRow& one) { return one.kind.starts_with("moment"); });
         }
       }}};
  for (const auto& [name, fault] : faults) {
    UnrecordedNormCell cell;
    fault(cell);

    const CellVerdict verdict = cell.judge();

    EXPECT_FALSE(verdict.holds) << name;
    if (!verdict.norm_diverged_at) {
      EXPECT_THAT(result_of(verdict, "parameters").reason, HasSubstr("call record.gradients() before clipping"))
          << name;
    }
  }
}

}  // namespace
}  // namespace plumbline::testing
