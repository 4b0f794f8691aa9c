// SPDX-License-Identifier: BSD-3-Clause
// What a single row must fulfil beyond its columns' types: it speaks of steps, microbatches, stages and ranks that the
// run has, and its own cells agree with one another.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "record/record.hpp"

namespace plumbline {

/// Columns by name and why the cell cannot be; nothing when the row is as it may be. `rank`: whose table it is.
struct BadCell {
  std::string column;
  std::string why;  ///< "is not a step of this run, which has 0 to 2"
};
std::optional<BadCell> bad_cell(const StepRow& row, const Manifest& manifest, std::int64_t rank);
std::optional<BadCell> bad_cell(const MicrobatchRow& row, const Manifest& manifest, std::int64_t rank);
std::optional<BadCell> bad_cell(const TensorRow& row, const Manifest& manifest, std::int64_t rank);
std::optional<BadCell> bad_cell(const BoundaryRow& row, const Manifest& manifest, std::int64_t rank);
std::optional<BadCell> bad_cell(const ActionRow& row, const Manifest& manifest, std::int64_t rank);
std::optional<BadCell> bad_cell(const MemoryRow& row, const Manifest& manifest, std::int64_t rank);
std::optional<BadCell> bad_cell(const SavedRow& row, const Manifest& manifest, std::int64_t rank);
std::optional<BadCell> bad_cell(const TrafficRow& row, const Manifest& manifest, std::int64_t rank);
std::optional<BadCell> bad_cell(const GpuMemoryRow& row, const Manifest& manifest, std::int64_t rank);
std::optional<BadCell> bad_cell(const EvaluationRow& row, const Manifest& manifest, std::int64_t rank);

/// Number of elements; nothing where it is beyond 2^56.
std::optional<std::int64_t> size_of(const Shape& shape);

}  // namespace plumbline
