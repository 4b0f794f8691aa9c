// SPDX-License-Identifier: BSD-3-Clause
// Measured activation bytes held against the memory law, action by action, and the law's own input against its closed
// forms.
#pragma once

#include "harness/judge/checks/memory_part.hpp"

namespace plumbline::judging {

/// saved_bytes of the reference equal their closed forms: a reference that leaks would predict its own leak. Counts
/// saved_cells.
std::unique_ptr<MemoryPart> saved_bytes_part(const CellEvidence& evidence);

/// Each compute action's peak_bytes and each step's activation_peak_bytes, on every rank. Counts actions,
/// activation_peaks. What the records do not have for it is lacking: saved.csv and what an external record leaves out,
/// and where sizes change between steps all of it, since saved.csv is of one. Left out where other kernels ran.
std::unique_ptr<MemoryPart> activations_part(const CellEvidence& evidence);

}  // namespace plumbline::judging
