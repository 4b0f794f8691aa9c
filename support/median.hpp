// SPDX-License-Identifier: BSD-3-Clause
// The median.
#pragma once

#include <optional>
#include <vector>

namespace plumbline {

/// Of an even number of values the mean of the two in the middle; nothing where there is none.
std::optional<double> median_of(std::vector<double> values);

}  // namespace plumbline
