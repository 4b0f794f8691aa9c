// SPDX-License-Identifier: BSD-3-Clause
// The order in which an epoch takes the windows of its tokens (docs/data.md, "Windows in another order").
#pragma once

#include <cstdint>

namespace plumbline {

/// The window that stands at `index` of an epoch of `windows`: a bijection of 0 ... windows - 1 for each seed and
/// epoch, in which any element is found without the others. A Feistel network of four rounds over the least even number
/// of bits that holds them all, walked along its cycle until it falls within them (Black and Rogaway, "Ciphers with
/// Arbitrary Finite Domains", 2002, the cycle-walking cipher).
std::int64_t shuffled_window(std::uint64_t seed, std::int64_t epoch, std::int64_t index, std::int64_t windows);

}  // namespace plumbline
