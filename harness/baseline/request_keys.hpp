// SPDX-License-Identifier: BSD-3-Clause
// A request as compact keys and values, so that two requests can be compared key by key.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "support/json.hpp"

namespace plumbline {

/// From key, "optimizer/learning_rate", to value; long values are replaced by their digest.
using RequestKeys = std::map<std::string, std::string>;

/// Omits the locations of files. Empty without a request.
RequestKeys request_keys(Json request);

/// Difference of `keys` to `base`: the entries that differ, and "absent" for missing ones.
RequestKeys beyond(const RequestKeys& base, const RequestKeys& keys);
/// The inverse: applies such entries to `base`.
RequestKeys with(RequestKeys base, const RequestKeys& beyond);

/// "steps 5 before, 6 now" for each differing key.
std::vector<std::string> request_differences(const RequestKeys& before, const RequestKeys& now);

}  // namespace plumbline
