// The loss on data that is not trained on: when, and on what.
#pragma once

#include <cstdint>

#include "training/training_run.hpp"

namespace plumbline {

/// Whether one comes after the step: every `evaluate.every` steps and after the last, where there is validation data.
bool evaluation_due(const TrainingRun& training, std::int64_t step);

/// The run with its validation data in the place of what it is trained on: step 0 of it is an evaluation.
TrainingRun evaluation_run(const TrainingRun& training);

}  // namespace plumbline
