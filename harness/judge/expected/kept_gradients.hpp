// SPDX-License-Identifier: BSD-3-Clause
// Bytes of gradients that a listed order of summing keeps until the step's end.
#pragma once

#include <cstdint>
#include <optional>

#include "record/manifest.hpp"
#include "record/rows.hpp"

namespace plumbline::judging {

/// A reference that is told an order keeps each microbatch's gradients apart and adds them when all are there: as many
/// copies as there are microbatches, beside the sums. A pipeline's own list is that order: it keeps none. Nothing where
/// the record does not say how large its gradients are.
inline std::optional<std::int64_t> kept_gradient_bytes(const Manifest& manifest, const MemoryRow& row) {
  if (manifest.role != "reference" || manifest.accumulation != "listed") return 0;
  if (!row.gradient_bytes) return std::nullopt;
  return manifest.microbatches * *row.gradient_bytes;
}

}  // namespace plumbline::judging
