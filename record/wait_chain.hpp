// SPDX-License-Identifier: BSD-3-Clause
// Chains of waiting ranks: from a rank that timed out to the one that holds up all others.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "record/rank_folder.hpp"

namespace plumbline {

/// The chain of waiting ranks from `start`, including it. Ends at a rank that waits for none (`peer_of` is negative) or
/// that is already in the chain.
std::vector<std::int64_t> wait_chain(std::int64_t start, const std::function<std::int64_t(std::int64_t)>& peer_of);

/// ", last seen in 0F3 of step 2": the last rank of such a chain by its heartbeat; empty if the ranks wait in a circle.
/// Never throws.
std::string last_sign(const RankFolders& folders, const std::vector<std::int64_t>& chain) noexcept;

}  // namespace plumbline
