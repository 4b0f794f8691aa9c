// SPDX-License-Identifier: BSD-3-Clause
// Compares two values of one column: bit for bit, or in the mode calibrated within limits.
#pragma once

#include <optional>
#include <string>

#include "harness/judge/check_result_builder.hpp"
#include "harness/judge/facts/expected.hpp"

namespace plumbline::judging {

struct FactDifference {
  std::string expected, got;
  std::string why = {};       ///< "the bits differ"; may be empty
  std::string item = {};      ///< the part that differs, if only a part does: "tokens"
  std::string size = {};      ///< of the difference, by the tables
  std::string look = {};      ///< what the wrong value is, if known
  bool of_reference = false;  ///< the reference's own value is impossible
};

/// nullopt if the values agree. Notes measured margins in the builder.
std::optional<FactDifference> value_difference(const StepEvidence& now, const Expected& expected, const Fact& got,
                                               CheckResultBuilder& builder);

/// "3 NaN and 1 infinity of 64 elements"; empty if the row is finite.
std::string not_finite_words(const TensorRow& row);

}  // namespace plumbline::judging
