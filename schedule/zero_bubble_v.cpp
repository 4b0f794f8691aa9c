// SPDX-License-Identifier: BSD-3-Clause
#include "schedule/zero_bubble_v.hpp"

#include <algorithm>

#include "schedule/list_builder.hpp"

namespace plumbline {

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

}  // namespace plumbline
