// SPDX-License-Identifier: BSD-3-Clause
// Loads a checkpoint; each rank reads its own tensors, for any number of ranks that wrote it.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "record/record.hpp"
#include "training/rank_group.hpp"
#include "training/run.hpp"
#include "training/train_state.hpp"

namespace plumbline {

/// Loads parameters, moments and the number of completed steps into `state`; returns the run that wrote them and its
/// steps. Reads only this rank's tensors. Throws UnfitCheckpoint naming another model, dtype, optimizer or data, and
/// InputError naming a tensor that is missing or whose bytes changed.
ResumedFrom load_checkpoint(const std::filesystem::path& checkpoint, const Run& run, TrainState& state);

/// Collective: `resume` is "latest" (the newest readable checkpoint of `run.checkpoint.folder`; starts from
/// step 0 if there is none) or a checkpoint's folder. Returns the origin. Throws InputError on every rank if one of
/// them cannot load the requested checkpoint. "latest" skips damaged checkpoints, with a message on stderr by rank 0;
/// one of another training is refused, whatever older ones exist.
std::optional<ResumedFrom> resume_training(const std::string& resume, const Run& run, TrainState& state,
                                           RankGroup& group);

}  // namespace plumbline
