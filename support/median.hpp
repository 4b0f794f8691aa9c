// SPDX-License-Identifier: BSD-3-Clause
// The median.
#pragma once

#include <optional>
#include <vector>

namespace plumbline {

/// Median; the mean of the two middle values for an even count, nullopt for none.
std::optional<double> median_of(std::vector<double> values);

}  // namespace plumbline
