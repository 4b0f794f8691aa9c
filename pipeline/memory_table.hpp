// SPDX-License-Identifier: BSD-3-Clause
// What a run takes on one device and on 1 to 8 ranks, for people: plumbline-pipeline RUN.toml --plan.
#pragma once

#include <string>

#include "training/training_run.hpp"

namespace plumbline {

/// A line for each number of ranks with the plan of the rank that takes most, and the sum over all ranks; or why the
/// run's schedule does not run on so many.
std::string memory_table(const TrainingRun& training);

}  // namespace plumbline
