// SPDX-License-Identifier: BSD-3-Clause
// Executes lowered lists over whole numbers in place of tensors: what a wrong list would compute.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "schedule/schedule.hpp"

namespace plumbline {

/// Each stage's weights after STEP, each activation that fed a backward, mixed so that another value or another order
/// of summing shows. Messages are queued for each pair of ranks and direction, without a tag, as a transport that posts
/// them moves them. Nothing when a rank cannot go on, uses a value that is not there, or leaves a message behind.
std::optional<std::vector<std::uint64_t>> execute(const Schedule& lowered);

}  // namespace plumbline
