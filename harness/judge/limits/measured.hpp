// SPDX-License-Identifier: BSD-3-Clause
// The error of one value against the float64 shadow, and its limit.
#pragma once

#include <string>

namespace plumbline::judging {

struct Measured {
  std::string item;  ///< "gradient/model.norm.weight at step 1"
  double error = 0;
  double limit = 0;
  std::string limit_words;

  /// error / limit: 0 where both are 0, infinity where only the limit is, NaN where the error is.
  double margin() const;
  /// False for a NaN.
  bool holds() const { return error <= limit; }
  std::string words() const;
};

/// Warned of from here on: a margin that harmless runs do not reach.
inline constexpr double warned_margin = 0.5;

}  // namespace plumbline::judging
