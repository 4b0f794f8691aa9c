// SPDX-License-Identifier: BSD-3-Clause
// Rules for a single row beyond the types of its columns: its steps, microbatches, stages and ranks exist in the run,
// and its cells are consistent.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "record/record.hpp"

namespace plumbline {

/// Column names and the reason if the row is invalid. `rank`: owner of the table.
struct BadCell {
  std::string column;
  std::string why;  ///< "is not a step of this run, which has 0 to 2"
};
std::optional<BadCell> bad_cell(const StepRow& row, const Manifest& manifest, std::int64_t rank);
std::optional<BadCell> bad_cell(const NormRow& row, const Manifest& manifest, std::int64_t rank);
std::optional<BadCell> bad_cell(const MicrobatchRow& row, const Manifest& manifest, std::int64_t rank);
std::optional<BadCell> bad_cell(const TensorRow& row, const Manifest& manifest, std::int64_t rank);
std::optional<BadCell> bad_cell(const BoundaryRow& row, const Manifest& manifest, std::int64_t rank);
std::optional<BadCell> bad_cell(const ActionRow& row, const Manifest& manifest, std::int64_t rank);
std::optional<BadCell> bad_cell(const MemoryRow& row, const Manifest& manifest, std::int64_t rank);
std::optional<BadCell> bad_cell(const SavedRow& row, const Manifest& manifest, std::int64_t rank);
std::optional<BadCell> bad_cell(const TrafficRow& row, const Manifest& manifest, std::int64_t rank);
std::optional<BadCell> bad_cell(const GpuMemoryRow& row, const Manifest& manifest, std::int64_t rank);
std::optional<BadCell> bad_cell(const EvaluationRow& row, const Manifest& manifest, std::int64_t rank);

/// Number of elements; nullopt above 2^56.
std::optional<std::int64_t> size_of(const Shape& shape);

}  // namespace plumbline
