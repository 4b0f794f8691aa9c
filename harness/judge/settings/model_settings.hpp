// SPDX-License-Identifier: BSD-3-Clause
// Comparison of two records' model configs.
#pragma once

#include <string>
#include <vector>

#include "harness/judge/settings/differences.hpp"

namespace plumbline::judging {

/// Of two Llamas: what decides the computation, and every other key that both have, or one if its default is known.
/// Throws InputError for a config that cannot be used.
void compare_models(const Json& reference, const Json& candidate, Differences& differences);
/// Keys that only one of two Llamas has and whose default is unknown.
std::vector<std::string> model_keys_of_one(const Json& reference, const Json& candidate);
/// Compares every key of the config of another model, except a library's own notes.
void compare_configs(const Json& reference, const Json& candidate, Differences& differences);

}  // namespace plumbline::judging
