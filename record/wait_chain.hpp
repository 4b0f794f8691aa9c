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

/// For the message of a rank that timed out: "; rank 2 waits for rank 1, rank 1 for rank 0, last seen in 0F3 of step
/// 2", or "...: they wait for each other", from the heartbeats in a run's record. Empty if `rank`'s heartbeat names
/// no peer. Heartbeats of other hosts, which may be outdated, and of stopped processes are not followed. Never throws.
std::string waits_behind(const RankFolders& folders, std::int64_t rank) noexcept;

}  // namespace plumbline
