// SPDX-License-Identifier: BSD-3-Clause
// What was asked of a run, key by key, short enough to be kept: so that two requests that differ can say where.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "support/json.hpp"

namespace plumbline {

/// Key, "optimizer/learning_rate", to its value; a value that is long stands as its digest.
using RequestKeys = std::map<std::string, std::string>;

/// Without where files lay. Empty where nobody asked.
RequestKeys request_keys(Json request);

/// What has to be known of `keys` by one who knows `base`: entries that are other, and "absent" where there is none.
RequestKeys beyond(const RequestKeys& base, const RequestKeys& keys);
/// The inverse: `base` with those entries put in.
RequestKeys with(RequestKeys base, const RequestKeys& beyond);

/// "steps 5 before, 6 now"; one for each key that is not the same.
std::vector<std::string> request_differences(const RequestKeys& before, const RequestKeys& now);

}  // namespace plumbline
