// SPDX-License-Identifier: BSD-3-Clause
// The order of an epoch's token windows if shuffled (docs/data.md, "Windows in another order").
#pragma once

#include <cstdint>

namespace plumbline {

/// The window at `index` of an epoch of `windows`: a bijection of 0 ... windows - 1 for each seed and epoch, computed
/// for any index independently. A Feistel network of four rounds over the smallest even number of bits that holds all
/// windows, iterated until the result is in range (Black and Rogaway, "Ciphers with Arbitrary Finite Domains", 2002,
/// cycle walking).
std::int64_t shuffled_window(std::uint64_t seed, std::int64_t epoch, std::int64_t index, std::int64_t windows);

}  // namespace plumbline
