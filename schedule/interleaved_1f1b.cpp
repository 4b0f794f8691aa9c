// SPDX-License-Identifier: BSD-3-Clause
#include "schedule/interleaved_1f1b.hpp"

#include <algorithm>

namespace plumbline {

std::int32_t interleaved_group(std::int32_t ranks, std::int32_t microbatches) {
  const std::int32_t rounds = std::max(1, microbatches / ranks);
  return microbatches % rounds == 0 ? microbatches / rounds : 0;
}

std::int32_t interleaved_warm_up(std::int32_t rank, std::int32_t ranks, std::int32_t microbatches,
                                 std::int32_t chunks) {
  return std::min(microbatches * chunks,
                  2 * (ranks - rank - 1) + (chunks - 1) * interleaved_group(ranks, microbatches));
}

ActionList interleaved_1f1b_list(std::int32_t rank, std::int32_t ranks, std::int32_t microbatches,
                                 std::int32_t chunks) {
  const std::int32_t group = interleaved_group(ranks, microbatches);
  const std::int32_t warm_up = interleaved_warm_up(rank, ranks, microbatches, chunks);
  const std::int32_t total = microbatches * chunks;
  // A round is `group` microbatches through all of the rank's chunks, in reverse chunk order for backward.
  const auto action = [&](ActionType type, std::int32_t nth) {
    const std::int32_t turn = nth / group % chunks;
    const std::int32_t chunk = type == ActionType::forward ? turn : chunks - 1 - turn;
    return Action{chunk * ranks + rank, type, nth / (group * chunks) * group + nth % group};
  };

  ActionList list;
  list.reserve(2 * static_cast<std::size_t>(total));
  for (std::int32_t nth = 0; nth < warm_up; ++nth) list.push_back(action(ActionType::forward, nth));
  for (std::int32_t nth = 0; nth < total; ++nth) {
    if (warm_up + nth < total) list.push_back(action(ActionType::forward, warm_up + nth));
    list.push_back(action(ActionType::backward, nth));
  }
  return list;
}

}  // namespace plumbline
