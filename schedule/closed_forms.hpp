// SPDX-License-Identifier: BSD-3-Clause
// Published formulas for bubbles.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "schedule/simulator.hpp"

namespace plumbline {

/// The bubble in the unit of the durations, for equal stages without communication; null if no closed form applies (use
/// the simulator then).
std::optional<double> closed_form_bubble(const std::string& name, std::int32_t ranks, std::int32_t microbatches,
                                         const StageTimes& times);

}  // namespace plumbline
