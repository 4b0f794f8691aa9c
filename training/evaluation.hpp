// SPDX-License-Identifier: BSD-3-Clause
// The loss on data that is not trained on: when, and on what.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "record/rows.hpp"
#include "training/training_run.hpp"

namespace plumbline {

/// Whether one comes after the step: every `evaluate.every` steps and after the last, where there is validation data.
bool evaluation_due(const TrainingRun& training, std::int64_t step);

/// The run with its validation data in the place of what it is trained on: step 0 of it is an evaluation.
TrainingRun evaluation_run(const TrainingRun& training);

/// What one found, by microbatch; on the rank that owns the loss.
struct EvaluationResult {
  std::vector<float> losses;
  std::vector<std::string> data_digests;  ///< of what was fed; empty where nothing is recorded

  /// Their sum from left to right.
  float loss() const;
};

/// Of evaluation.csv: each microbatch's, then the whole one's. `plan`: of the validation data.
std::vector<EvaluationRow> evaluation_rows(std::int64_t step, const BatchPlan& plan, const EvaluationResult& result);

}  // namespace plumbline
