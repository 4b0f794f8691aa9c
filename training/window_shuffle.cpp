// SPDX-License-Identifier: BSD-3-Clause
#include "training/window_shuffle.hpp"

#include <bit>
#include <string>
#include <utility>

#include "support/hash.hpp"

namespace plumbline {

std::int64_t shuffled_window(std::uint64_t seed, std::int64_t epoch, std::int64_t index, std::int64_t windows) {
  constexpr int rounds = 4;
  const auto bits = static_cast<int>(std::bit_width(static_cast<std::uint64_t>(windows - 1)));
  const int half = (bits + 1) / 2;
  const std::uint64_t mask = (std::uint64_t{1} << half) - 1;
  const std::string key = "windows/" + std::to_string(seed) + "/" + std::to_string(epoch) + "/";
  auto place = static_cast<std::uint64_t>(index);
  do {
    std::uint64_t left = place >> half, right = place & mask;
    for (int round = 0; round < rounds; ++round) {
      const std::uint64_t mixed = hash64(key + std::to_string(round) + "/" + std::to_string(right));
      left = std::exchange(right, left ^ (mixed & mask));
    }
    place = left << half | right;
  } while (place >= static_cast<std::uint64_t>(windows));
  return static_cast<std::int64_t>(place);
}

}  // namespace plumbline
