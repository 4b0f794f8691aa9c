// SPDX-License-Identifier: BSD-3-Clause
// Checkpoints and metrics in the folder of a run that are later than its start: another training, or another branch of
// this one. A run that saved next to them would prune its own checkpoints and move `latest` away from them.
#pragma once

#include <cstdint>

#include "training/training_run.hpp"

namespace plumbline {

/// Of a run that starts after `steps` steps (0: a new training), which saves in [checkpoint] folder. Throws InputError
/// that names what is later. Checkpoints before the start remain only if the run resumes from one of this folder.
/// Nothing is later than --resume latest, which skips only damaged checkpoints.
void require_no_later_work(const TrainingRun& training, std::int64_t steps);

/// The same with --discard-later: renames what is later, "step-N.discarded", and points `latest` at the checkpoint that
/// the run resumes from. Renames also what --resume latest skipped. Throws SystemError.
void discard_later_work(const TrainingRun& training, std::int64_t steps);

}  // namespace plumbline
