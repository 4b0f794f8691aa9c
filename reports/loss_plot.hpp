// SPDX-License-Identifier: BSD-3-Clause
// The loss of a reference and of cases, with the difference on its own axis.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace plumbline {

using Losses = std::map<std::int64_t, float>;  ///< by step

struct LossSeries {
  std::string label;
  Losses losses;
};

/// The differences in numbers.
struct LossDifference {
  std::int64_t compared = 0;   ///< losses that both sides have
  std::int64_t differing = 0;  ///< of these, those not equal (NaN is never equal)
  double largest = 0;          ///< largest |loss - reference| among the finite ones
};
LossDifference loss_difference(const Losses& reference, const Losses& losses);

/// The picture, as an SVG element; the legend has `reference_label` and the labels of `series`, whose marks repeat
/// after eight. The lower axis spans at least two units in the last place of the reference's largest loss, so that
/// "equal" can be distinguished from "small".
std::string draw_losses(const Losses& reference, const std::vector<LossSeries>& series, const std::string& title,
                        const std::string& reference_label = "reference");

}  // namespace plumbline
