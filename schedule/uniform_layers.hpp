// SPDX-License-Identifier: BSD-3-Clause
// The even partition, which depends on the number of layers only. For planning and training; the judge has its own
// implementation (harness/judge/request/requested_partition).
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

namespace plumbline {

/// Layers of each stage: spread evenly, extra layers on the earliest stages; with more stages than layers, one layer
/// each on stages 1, 2, ... (the first stage already holds the embedding).
inline std::vector<std::int64_t> uniform_layers(std::int64_t layers, std::int32_t stages) {
  std::vector<std::int64_t> counts(static_cast<std::size_t>(stages), 0);
  if (layers >= stages) {
    for (std::int32_t s = 0; s < stages; ++s) {
      counts[static_cast<std::size_t>(s)] = layers / stages + (s < layers % stages ? 1 : 0);
    }
  } else {
    std::fill_n(counts.begin() + 1, layers, 1);
  }
  return counts;
}

}  // namespace plumbline
