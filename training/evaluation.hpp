// SPDX-License-Identifier: BSD-3-Clause
// Evaluation of the loss on validation data: when, and on which data.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "record/rows.hpp"
#include "training/training_run.hpp"

namespace plumbline {

/// Whether an evaluation follows this step: every `evaluate.every` steps and after the last, if there is validation
/// data.
bool evaluation_due(const TrainingRun& training, std::int64_t step);

/// What an evaluation is computed from: step 0 of this plan. Requires validation data.
const BatchPlan& evaluation_data(const TrainingRun& training);

/// The results by microbatch, on the rank that computes the loss.
struct EvaluationResult {
  std::vector<float> losses;
  std::vector<std::string> data_digests;  ///< of the inputs; empty if nothing is recorded

  /// Their sum from left to right.
  float loss() const;
};

/// Rows of evaluation.csv: one per microbatch and one for the whole evaluation. `plan`: of the validation data.
std::vector<EvaluationRow> evaluation_rows(std::int64_t step, const BatchPlan& plan, const EvaluationResult& result);

}  // namespace plumbline
