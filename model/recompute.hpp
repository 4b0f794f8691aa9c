// SPDX-License-Identifier: BSD-3-Clause
// What a layer's forward pass saves for its backward pass: everything needed, or only the input of the layer or of one
// of its halves, which is then recomputed. The bits are the same.
#pragma once

#include <cstddef>
#include <cstdint>

#include "model/unit.hpp"

namespace plumbline {

enum class Recompute : std::uint8_t { none, layer, attention, mlp };

/// Names as in the run file and the manifest.
inline const char* to_text(Recompute recompute) {
  constexpr const char* names[] = {"none", "layer", "attention", "mlp"};
  return names[static_cast<std::size_t>(recompute)];
}

/// Whether a unit or half of this kind is recomputed as a whole: `layer` stands for both halves.
inline bool recomputes(Recompute recompute, UnitKind kind) {
  if (kind == UnitKind::layer) return recompute == Recompute::layer;
  if (kind == UnitKind::attention) return recompute == Recompute::layer || recompute == Recompute::attention;
  return kind == UnitKind::mlp && (recompute == Recompute::layer || recompute == Recompute::mlp);
}

}  // namespace plumbline
