// SPDX-License-Identifier: BSD-3-Clause
// Who waits for whom: from a rank that waited too long to the one that all stand for.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

namespace plumbline {

/// The ranks met when following who waits for whom from `start`, itself first; stops at a rank that waits for none
/// (`peer_of` is negative) or that was met before.
std::vector<std::int64_t> wait_chain(std::int64_t start, const std::function<std::int64_t(std::int64_t)>& peer_of);

/// ", last seen in 0F3 of step 2": the end of such a chain, as its progress page shows; empty where the chain ends at a
/// rank that was met before. Never throws.
std::string last_sign(const std::filesystem::path& record, const std::vector<std::int64_t>& chain) noexcept;

/// For the message of a rank that waited too long: "; rank 2 waits for rank 1, rank 1 for rank 0, last seen in 0F3 of
/// step 2", or "...: they wait for each other", from the progress pages in a record's folder. Empty where `rank`'s page
/// names nobody. A page of another host may be old and is not followed. Never throws.
std::string waits_behind(const std::filesystem::path& record, std::int64_t rank) noexcept;

}  // namespace plumbline
