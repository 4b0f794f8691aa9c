// SPDX-License-Identifier: BSD-3-Clause
// Identity of runs and code paths in a baseline.
#pragma once

#include <string>

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

}  // namespace plumbline
