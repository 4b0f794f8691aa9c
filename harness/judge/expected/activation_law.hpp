// SPDX-License-Identifier: BSD-3-Clause
// The activation memory model of docs/record-format.md: predicts the activation peak of each action from the
// reference's saved.csv and a rank's list.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "harness/judge/expected/stage_map.hpp"
#include "record/rows.hpp"
#include "schedule/action.hpp"

namespace plumbline::judging {

/// saved.csv by (microbatch, unit).
using SavedTable = std::map<std::pair<std::int64_t, std::string>, SavedRow>;

/// Peak bytes of each compute action of the list, in order; no activations are live before the first. An upper bound if
/// the table's columns of split backward are empty. `boundary_bytes`: of the boundary tensor, by microbatch. Throws
/// InputError naming the unit and microbatch that the table lacks.
std::vector<std::int64_t> predict_peaks(const ActionList& list, const StageMap& stages, const SavedTable& saved,
                                        const std::vector<std::int64_t>& boundary_bytes);

}  // namespace plumbline::judging
