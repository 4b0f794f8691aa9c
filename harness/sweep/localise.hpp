// SPDX-License-Identifier: BSD-3-Clause
// From "these two tensors differ" to "in this element": of a failing cell that was run again at level dump.
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
  std::string key;  ///< of the candidate's dump: "boundary/forward/2/layers.3/send"
  std::vector<std::int64_t> shape;
  std::vector<std::int64_t> index;  ///< one number a dimension
  std::string expected,
      got;  ///< values, in the shortest form that reads back to the same bits; 2-byte ones as bits too
  std::optional<std::int64_t> ulp;  ///< between the two; of float32 and bfloat16 that are numbers
  std::int64_t differing = 0;       ///< elements that differ
};

/// Whether a comparison of values failed in a cell whose runs ended well: then a dump can show more.
bool worth_a_dump(const CellVerdict& cell);

/// `run`, a run file's text, with level dump in place of its own.
std::string at_level_dump(const std::string& run);

/// Looks up the two tensors whose digests the divergence names, in the dumps of its step. Nothing when it names none
/// (shapes differ, say) or they are not there. Throws InputError for a dump that cannot be read.
std::optional<ElementDifference> first_element(const FirstDivergence& divergence,
                                               const std::filesystem::path& reference,
                                               const std::filesystem::path& candidate);

/// "element [0, 3, 17] of 2x16x64: expected 0.5, got 0.25 (8388608 ULP); 12 of 2048 elements differ".
std::string to_text(const ElementDifference& difference);

/// Dumps are large: those of the other steps go.
void keep_dumps_of_step(const std::filesystem::path& record, std::int64_t step);

}  // namespace plumbline
