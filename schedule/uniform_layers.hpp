// SPDX-License-Identifier: BSD-3-Clause
// The even partition, which needs to know nothing of the model but its number of layers. For those who plan and train;
// the judge has its own (harness/judge/request/partition_asked).
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

namespace plumbline {

/// Layers of each stage: spread evenly, extra ones to the earliest stages; with more stages than layers, one layer each
/// on stages 1, 2, ... (the first stage has the embedding to hold already).
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
