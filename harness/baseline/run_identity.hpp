// SPDX-License-Identifier: BSD-3-Clause
// Identity of runs and code paths in a baseline.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "support/json.hpp"

namespace plumbline {

/// A request with file names instead of paths, and without defaults that older requests lacked.
Json without_places(Json request);

/// Digest of a request without the locations of its files, so that it is equal in another checkout. Empty without a
/// request.
std::string asked_digest(Json request);

/// The keys of a verdict's machine block that determine the bits of a result for a given source.
Json code_path_of(const Json& environment);

/// The trainers' commit; empty if unknown.
std::string commit_of(const Json& environment);

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
