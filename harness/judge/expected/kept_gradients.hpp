// SPDX-License-Identifier: BSD-3-Clause
// Bytes of gradients that are kept until the step's end to be summed in a listed order.
#pragma once

#include <cstdint>
#include <optional>

#include "record/manifest.hpp"
#include "record/rows.hpp"

namespace plumbline::judging {

/// A reference with a listed order keeps each microbatch's gradients and adds them at the end: as many copies as
/// microbatches, besides the sums. A pipeline's own list is that order, so it keeps none. nullopt if the record does
/// not state the size of its gradients.
inline std::optional<std::int64_t> kept_gradient_bytes(const Manifest& manifest, const MemoryRow& row) {
  if (manifest.role != "reference" || manifest.accumulation != "listed") return 0;
  if (!row.gradient_bytes) return std::nullopt;
  return manifest.microbatches * *row.gradient_bytes;
}

}  // namespace plumbline::judging
