// SPDX-License-Identifier: BSD-3-Clause
// Saves a checkpoint; each rank writes its own tensors, as files of a Hugging Face model folder (docs/checkpoints.md).
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "training/rank_group.hpp"
#include "training/train_state.hpp"
#include "training/training_run.hpp"

namespace plumbline {

/// Collective. Writes the checkpoint after `state.step` steps into `folder`, tensor by tensor from where it is. A
/// failed write (a full disk) is not an error: training continues, the previous checkpoint remains, and every rank gets
/// the reason. Returns null on success. The ranks wait for each other with the start-up time limit.
std::optional<std::string> save_checkpoint(const std::filesystem::path& folder, const TrainingRun& training,
                                           const TrainState& state, RankGroup& group);

}  // namespace plumbline
