// SPDX-License-Identifier: BSD-3-Clause
// The ratio of each parameter's gradient norm to the reference's: 1 if nothing is wrong; another value
// often shows the cause.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "record/record.hpp"

namespace plumbline {

/// One parameter, over the steps in which both norms are finite and the reference's is not 0.
struct GradientRatio {
  std::string parameter;
  double low = 1, high = 1;
};

struct GradientRatios {
  std::int64_t compared = 0;              ///< norms
  std::vector<GradientRatio> parameters;  ///< as the candidate's ranks list them

  /// Adds the gradients that both have; the records hold the rows of one or more steps.
  void add(const Record& reference, const Record& candidate);
  bool all_one() const;
};

struct NamedRatios {
  std::string label;  ///< of the run
  GradientRatios ratios;
};

/// Ratio - 1, one point per parameter for each end of its range, over powers of ten on both sides of 0; runs differ
/// by mark and color. An SVG element.
std::string draw_gradient_ratios(const std::vector<NamedRatios>& runs, const std::string& title);

}  // namespace plumbline
