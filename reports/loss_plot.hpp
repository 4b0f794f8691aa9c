// SPDX-License-Identifier: BSD-3-Clause
// The loss of a reference and of the cases of every world size, with the difference on its own axis.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace plumbline {

using Losses = std::map<std::int64_t, float>;  ///< by step

struct LossSeries {
  std::int64_t world = 0;
  std::string label;
  Losses losses;
};

/// The differences in numbers.
struct LossDifference {
  std::int64_t compared = 0;   ///< losses that both sides have
  std::int64_t differing = 0;  ///< of these, those not equal (NaN is never equal)
  double largest = 0;          ///< largest |series - reference| among the finite ones
};
LossDifference loss_difference(const Losses& reference, const LossSeries& series);

/// The picture, as an SVG element. The lower axis spans at least two units in the last place of the reference's largest
/// loss, so that "equal" can be distinguished from "small".
std::string draw_losses(const Losses& reference, const std::vector<LossSeries>& series, const std::string& title);

}  // namespace plumbline
