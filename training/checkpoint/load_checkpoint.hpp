// SPDX-License-Identifier: BSD-3-Clause
// A checkpoint read: each rank its own tensors, whoever wrote them.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "record/record.hpp"
#include "training/rank_group.hpp"
#include "training/train_state.hpp"
#include "training/training_run.hpp"

namespace plumbline {

/// Parameters, moments and the number of steps made, into `state`; says which run wrote them, and after how many steps.
/// Only this rank's tensors are read. Throws UnfitCheckpoint naming another model, dtype, optimiser or data, InputError
/// naming a tensor that is missing or whose bytes are not those that were written.
ResumedFrom load_checkpoint(const std::filesystem::path& checkpoint, const TrainingRun& training, TrainState& state);

/// Collective: `resume` is "latest" (the newest checkpoint of `training.run.checkpoint.folder` that can be read; a
/// start from nothing where there is none at all) or a checkpoint's folder. Returns what it goes on with. Throws
/// InputError on every rank where one of them cannot load what was asked for. Damaged ones are passed over, which is
/// said on stderr by rank 0; one that does not fit is refused, whatever lies before it.
std::optional<ResumedFrom> resume_training(const std::string& resume, const TrainingRun& training, TrainState& state,
                                           RankGroup& group);

}  // namespace plumbline
