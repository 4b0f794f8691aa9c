// SPDX-License-Identifier: BSD-3-Clause
// What a forward pass keeps of a layer for its backward pass: all that it needs, or the input alone, from which the
// layer is computed again. The bits are the same.
#pragma once

#include <cstdint>

namespace plumbline {

enum class Recompute : std::uint8_t { none, layer };

/// As the run file and the manifest name it.
inline const char* to_text(Recompute recompute) {
  return recompute == Recompute::layer ? "layer" : "none";
}

}  // namespace plumbline
