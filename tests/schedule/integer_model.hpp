// SPDX-License-Identifier: BSD-3-Clause
// Executes lowered lists over integers instead of tensors, to show what a wrong list would compute.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "schedule/schedule.hpp"

namespace plumbline {

/// Each stage's weights after STEP and each activation used by a backward pass, mixed so that another value or another
/// summation order changes the result. Messages are queued for each pair of ranks and direction, without a tag, as in a
/// transport that posts them. Null if a rank cannot continue, uses a missing value, or leaves a message unreceived.
std::optional<std::vector<std::uint64_t>> execute(const Schedule& lowered);

}  // namespace plumbline
