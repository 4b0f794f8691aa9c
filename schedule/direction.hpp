// SPDX-License-Identifier: BSD-3-Clause
// Direction of a message: activations forward, gradients backward.
#pragma once

#include <cstdint>

namespace plumbline {

enum class Direction : std::int32_t { forward = 0, backward = 1 };

constexpr const char* to_text(Direction direction) {
  return direction == Direction::forward ? "forward" : "backward";
}

}  // namespace plumbline
