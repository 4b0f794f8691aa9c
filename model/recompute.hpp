// SPDX-License-Identifier: BSD-3-Clause
// What a layer's forward pass saves for its backward pass: everything needed, or only the input, from which the layer
// is recomputed. The bits are the same.
#pragma once

#include <cstdint>

namespace plumbline {

enum class Recompute : std::uint8_t { none, layer };

/// Names as in the run file and the manifest.
inline const char* to_text(Recompute recompute) {
  return recompute == Recompute::layer ? "layer" : "none";
}

}  // namespace plumbline
