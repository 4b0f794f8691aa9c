// SPDX-License-Identifier: BSD-3-Clause
// The error of one value relative to the float64 reference, and its limit.
#pragma once

#include <string>

namespace plumbline::judging {

struct Measured {
  std::string item;  ///< "gradient/model.norm.weight at step 1"
  double error = 0;
  double limit = 0;
  std::string limit_words;

  /// error / limit; 0 if both are 0, infinity if only the limit is, NaN if the error is.
  double margin() const;
  /// False if the margin is NaN.
  bool holds() const { return error <= limit; }
  std::string words() const;
};

/// Margins from here on get a warning: equivalent runs do not reach it.
inline constexpr double warned_margin = 0.5;

}  // namespace plumbline::judging
