// SPDX-License-Identifier: BSD-3-Clause
// The memory that a run needs on one device and on 1 to 8 ranks, as a table: plumbline-pipeline RUN.toml --plan.
#pragma once

#include <string>

#include "training/training_run.hpp"

namespace plumbline {

/// One line for each number of ranks with the plan of the rank that needs most, and the sum over all ranks; or why the
/// run's schedule does not support that number.
std::string memory_table(const TrainingRun& training);

}  // namespace plumbline
