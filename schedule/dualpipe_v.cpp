// SPDX-License-Identifier: BSD-3-Clause
#include "schedule/dualpipe_v.hpp"

#include "schedule/list_builder.hpp"

namespace plumbline {

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
