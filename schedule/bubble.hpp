// SPDX-License-Identifier: BSD-3-Clause
// Span, bubble and slots, computed from the times of all actions.
#pragma once

#include <vector>

#include "schedule/simulator.hpp"

namespace plumbline {

/// The results of `simulate` for measured times, one per action of the lists; a rank's work is the duration of its
/// compute actions.
Simulation summarize(const Schedule& schedule, std::vector<std::vector<ActionTime>> actions);

}  // namespace plumbline
