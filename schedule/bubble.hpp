// SPDX-License-Identifier: BSD-3-Clause
// What follows from the times of all actions: span, bubble, slots.
#pragma once

#include <vector>

#include "schedule/simulator.hpp"

namespace plumbline {

/// The figures of `simulate` from times that were measured, one for each action of the lists; a rank's work is what its
/// compute actions took.
Simulation summarise(const Schedule& schedule, std::vector<std::vector<ActionTime>> actions);

}  // namespace plumbline
