// SPDX-License-Identifier: BSD-3-Clause
#include "schedule/generators.hpp"

#include <algorithm>

#include "schedule/list_builder.hpp"

namespace plumbline {

ActionList afab_list(std::int32_t stage, std::int32_t microbatches) {
  ActionList list;
  list.reserve(2 * static_cast<std::size_t>(microbatches));
  for (std::int32_t m = 0; m < microbatches; ++m) list.push_back({stage, ActionType::forward, m});
  for (std::int32_t m = 0; m < microbatches; ++m) list.push_back({stage, ActionType::backward, m});
  return list;
}

ActionList one_f_one_b_list(std::int32_t rank, std::int32_t ranks, std::int32_t microbatches) {
  const std::int32_t warm_up = std::min(microbatches, ranks - 1 - rank);
  ActionList list;
  list.reserve(2 * static_cast<std::size_t>(microbatches));
  for (std::int32_t m = 0; m < warm_up; ++m) list.push_back({rank, ActionType::forward, m});
  std::int32_t backward = 0;
  for (std::int32_t m = warm_up; m < microbatches; ++m) {
    list.push_back({rank, ActionType::forward, m});
    list.push_back({rank, ActionType::backward, backward++});
  }
  while (backward < microbatches) list.push_back({rank, ActionType::backward, backward++});
  return list;
}

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

ActionList looped_bfs_list(std::int32_t rank, std::int32_t ranks, std::int32_t microbatches, std::int32_t chunks) {
  ActionList list;
  for (std::int32_t chunk = 0; chunk < chunks; ++chunk) {
    for (std::int32_t m = 0; m < microbatches; ++m) list.push_back({chunk * ranks + rank, ActionType::forward, m});
  }
  for (std::int32_t chunk = chunks; chunk-- > 0;) {
    for (std::int32_t m = 0; m < microbatches; ++m) list.push_back({chunk * ranks + rank, ActionType::backward, m});
  }
  return list;
}

ActionList zero_bubble_h_list(std::int32_t rank, std::int32_t ranks, std::int32_t microbatches, std::int32_t depth) {
  // Products in 64 bits: a rank count that fits must not overflow here.
  const auto warm_up = static_cast<std::int32_t>(
      std::min(std::int64_t{microbatches}, std::int64_t{depth} * (std::int64_t{ranks} - 1 - rank)));
  const auto lag = static_cast<std::int32_t>(std::min(std::int64_t{microbatches}, std::int64_t{depth} * rank));
  ActionList list;
  list.reserve(3 * static_cast<std::size_t>(microbatches));
  for (std::int32_t m = 0; m < warm_up; ++m) list.push_back({rank, ActionType::forward, m});
  for (std::int32_t m = 0; m < microbatches; ++m) {
    if (m < microbatches - warm_up) list.push_back({rank, ActionType::forward, warm_up + m});
    list.push_back({rank, ActionType::backward_input, m});
    if (m >= lag) list.push_back({rank, ActionType::backward_weight, m - lag});
  }
  for (std::int32_t m = microbatches - lag; m < microbatches; ++m) {
    list.push_back({rank, ActionType::backward_weight, m});
  }
  return list;
}

ActionList zero_bubble_v_list(std::int32_t rank, std::int32_t ranks, std::int32_t microbatches) {
  const std::int32_t down = rank;
  const std::int32_t up = 2 * ranks - 1 - rank;
  const std::int32_t laid_out = std::max(2 * ranks - 1, microbatches);  // with fewer microbatches the V is never full
  ListBuilder build(microbatches);
  const auto whole_backward = [&](std::int32_t stage) {
    build.input(stage);
    build.weight(stage);
  };

  for (std::int32_t i = 0; i < 2 * (ranks - rank) - 1; ++i) build.forward(down);
  for (std::int32_t i = 0; i < rank; ++i) {
    build.forward(up);
    build.forward(down);
  }
  for (std::int32_t i = 0; i < ranks - rank; ++i) {
    build.forward(up);
    whole_backward(up);
  }
  while (build.forwards(up) < laid_out) {
    if (build.forwards(down) < laid_out) build.forward(down);
    whole_backward(down);
    build.forward(up);
    whole_backward(up);
  }
  // From here W is deferred, so that the ranks above get their gradients earlier.
  for (std::int32_t i = 0; i < rank; ++i) {
    build.input(down);
    build.input(up);
  }
  for (std::int32_t i = 0; i < ranks - rank; ++i) whole_backward(down);
  while (build.weights(up) < laid_out) build.weight(up);
  while (build.weights(down) < laid_out) build.weight(down);
  return build.take();
}

ActionList dualpipe_v_list(std::int32_t rank, std::int32_t ranks, std::int32_t microbatches) {
  const std::int32_t down = rank;
  const std::int32_t up = 2 * ranks - 1 - rank;
  const std::int32_t below = ranks - rank - 1;  // ranks between this one and the bottom of the V
  ListBuilder build(microbatches);

  // Fill: the first microbatches come back up when there are 2 in flight per rank below.
  for (std::int32_t i = 0; i < 2 * below; ++i) build.forward(down);
  for (std::int32_t i = 0; i <= rank; ++i) {
    build.forward(down);
    build.forward(up);
  }
  for (std::int32_t i = 0; i < below; ++i) {
    build.input(up);
    build.oldest_weight();
    build.forward(up);
  }
  // Steady state: each chunk's forward next to the other chunk's backward.
  for (std::int32_t i = 0; i < microbatches - 2 * ranks + rank + 1; ++i) {
    build.forward(down);
    build.backward(up);
    build.forward(up);
    build.backward(down);
  }
  // Drain: weight gradients of the last backwards are deferred to fill idle time.
  for (std::int32_t i = 0; i < below; ++i) {
    build.backward(up);
    build.forward(up);
    build.backward(down);
  }
  for (std::int32_t nth = 0; nth < 2 * (rank + 1); ++nth) {
    const std::int32_t stage = nth % 2 == 0 ? up : down;
    if (nth <= rank) {
      build.backward(stage);
    } else {
      build.input(stage);
    }
  }
  for (std::int32_t i = 0; i < below; ++i) {
    build.oldest_weight();
    build.input(down);
  }
  for (std::int32_t i = 0; i <= rank; ++i) build.oldest_weight();
  return build.take();
}

}  // namespace plumbline
