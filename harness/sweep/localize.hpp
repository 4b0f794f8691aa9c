// SPDX-License-Identifier: BSD-3-Clause
// Locates the first differing element for a failing case that was run again at level dump.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "record/verdict.hpp"

namespace plumbline {

/// The first element, in memory order, in which two dumped tensors differ.
struct ElementDifference {
  std::vector<std::int64_t> shape;
  std::vector<std::int64_t> index;  ///< one index per dimension
  std::string expected, got;  ///< in the shortest form that reads back to the same bits; 2-byte values also as bits
  std::optional<std::int64_t> ulp;  ///< their distance in ULPs; for float32 and bfloat16, if neither is NaN
  std::int64_t differing = 0;       ///< number of differing elements
};

/// True if a comparison of values failed in a case whose runs completed: a dump then provides details.
bool worth_a_dump(const CellVerdict& cell);

/// Finds the two tensors whose digests the divergence names in the dumps of its step. nullopt if it names none (for
/// example, if shapes differ) or they are missing. Throws InputError for a dump that cannot be read.
std::optional<ElementDifference> first_element(const Finding& divergence, const std::filesystem::path& reference,
                                               const std::filesystem::path& candidate);

/// "element [0, 3, 17] of 2x16x64: expected 0.5, got 0.25 (8388608 ULP); 12 of 2048 elements differ".
std::string to_text(const ElementDifference& difference);

/// Removes the dumps of other steps, which are large.
void keep_dumps_of_step(const std::filesystem::path& record, std::int64_t step);

}  // namespace plumbline
