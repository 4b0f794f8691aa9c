// Measured activation bytes held against the memory law, action by action, and the law's own input against its closed
// forms.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "harness/judge/evidence/cell_evidence.hpp"
#include "harness/judge/judgement.hpp"

namespace plumbline::judging {

/// saved_bytes of the reference equal their closed forms: a reference that leaks would predict its own leak. Counts
/// saved_cells.
void compare_saved_bytes(const CellEvidence& evidence, Judgement& judgement);

/// Each compute action's peak_bytes and each step's activation_peak_bytes, on every rank. Counts actions,
/// activation_peaks. What the records do not have for it (they are external) is named in the result; empty when all was
/// there.
std::vector<std::string> compare_activations(const CellEvidence& evidence, Judgement& judgement);

}  // namespace plumbline::judging
