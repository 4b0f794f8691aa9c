// SPDX-License-Identifier: BSD-3-Clause
#include "training/evaluation.hpp"

#include "training/step_losses.hpp"

namespace plumbline {

bool evaluation_due(const TrainingRun& training, std::int64_t step) {
  if (!training.validation) return false;
  const std::int64_t every = training.run.evaluate.every;
  return step + 1 == training.run.train.steps || (every > 0 && (step + 1) % every == 0);
}

const BatchPlan& evaluation_data(const TrainingRun& training) {
  return training.validation.value();
}

float EvaluationResult::loss() const {
  return step_loss(losses);
}

std::vector<EvaluationRow> evaluation_rows(std::int64_t step, const BatchPlan& plan, const EvaluationResult& result) {
  std::vector<EvaluationRow> rows;
  for (std::int64_t microbatch = 0; microbatch < plan.microbatches(); ++microbatch) {
    const auto index = static_cast<std::size_t>(microbatch);
    rows.push_back({step, microbatch, plan.tokens(microbatch), plan.valid_tokens(0, microbatch),
                    result.losses.at(index), result.data_digests.at(index)});
  }
  rows.push_back({step, std::nullopt, plan.step_tokens(), plan.step_valid_tokens(0), result.loss(), {}});
  return rows;
}

}  // namespace plumbline
