// SPDX-License-Identifier: BSD-3-Clause
// Records of which one sums its norm rank by rank: clip coefficients that differ by roundings end the comparison of
// bits.
#include <gmock/gmock.h>

#include <cmath>

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

}  // namespace
}  // namespace plumbline::testing
