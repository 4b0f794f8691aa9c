// SPDX-License-Identifier: BSD-3-Clause
// By what a run and a code path are recognised in a baseline.
#pragma once

#include <string>

#include "support/json.hpp"

namespace plumbline {

/// A request with the names of its files in place of their paths, and without what an older one did not have to say.
Json without_places(Json request);

/// Digest of a request without where its files lay: the same sweep in another checkout asks for the same. Empty where
/// nobody asked.
std::string asked_digest(Json request);

/// Those keys of a verdict's machine block on which the bits of a result depend where the source is the same.
Json code_path_of(const Json& environment);

/// Of the trainers; empty where it is not said.
std::string commit_of(const Json& environment);

}  // namespace plumbline
