// SPDX-License-Identifier: BSD-3-Clause
// A checkpoint written: each rank its own tensors, as files of a Hugging Face model folder (docs/checkpoints.md).
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "training/rank_group.hpp"
#include "training/train_state.hpp"
#include "training/training_run.hpp"

namespace plumbline {

/// Collective. The checkpoint after `state.step` steps, in `folder`. A tensor at a time goes from where it lies to the
/// disk. What cannot be written (a full disk) is no error: training goes on, the checkpoint before stays, and every
/// rank is told why. Nothing where it was written. The ranks wait for each other with the limit of the start-up.
std::optional<std::string> save_checkpoint(const std::filesystem::path& folder, const TrainingRun& training,
                                           const TrainState& state, RankGroup& group);

}  // namespace plumbline
