// SPDX-License-Identifier: BSD-3-Clause
// Measured activation bytes compared with the activation memory model, action by action, and the model's input with its
// closed forms.
#pragma once

#include "harness/judge/checks/memory_part.hpp"

namespace plumbline::judging {

/// saved_bytes of the reference equal their closed forms; otherwise a leak in the reference would be predicted for the
/// candidate. Counts saved_cells.
std::unique_ptr<MemoryPart> saved_bytes_part(const CellEvidence& evidence);

/// Compares each compute action's peak_bytes and each step's activation_peak_bytes on every rank with the prediction.
/// Counts actions, activation_peaks. Reports as lacking: a missing saved.csv, what an external record omits, and, if
/// sizes change between steps, everything, because saved.csv describes one step. Skipped if the runs used different
/// kernels.
std::unique_ptr<MemoryPart> activations_part(const CellEvidence& evidence);

}  // namespace plumbline::judging
