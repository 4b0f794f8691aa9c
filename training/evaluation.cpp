#include "training/evaluation.hpp"

namespace plumbline {

bool evaluation_due(const TrainingRun& training, std::int64_t step) {
  if (!training.validation) return false;
  const std::int64_t every = training.run.evaluate.every;
  return step + 1 == training.run.train.steps || (every > 0 && (step + 1) % every == 0);
}

TrainingRun evaluation_run(const TrainingRun& training) {
  TrainingRun evaluation = training;
  evaluation.plan = training.validation.value();
  return evaluation;
}

}  // namespace plumbline
