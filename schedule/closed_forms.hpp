// SPDX-License-Identifier: BSD-3-Clause
// Bubbles that papers give as formulas.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "schedule/simulator.hpp"

namespace plumbline {

/// The bubble of the closed form, in the durations' unit, for equal stages and no communication; nothing where no
/// closed form holds (the simulator is then the truth).
std::optional<double> closed_form_bubble(const std::string& name, std::int32_t ranks, std::int32_t microbatches,
                                         const StageTimes& times);

}  // namespace plumbline
