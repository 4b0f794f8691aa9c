// SPDX-License-Identifier: BSD-3-Clause
// Comparison of two records' optimisers and learning rate schedules.
#pragma once

#include <string>
#include <vector>

#include "harness/judge/settings/differences.hpp"
#include "record/manifest.hpp"

namespace plumbline::judging {

void compare_optimizers(const Json& reference, const Json& candidate, Differences& differences);
/// "optimizer.amsbound": keys that no formula uses and that only one has, or that differ where there are several groups.
std::vector<std::string> optimizer_keys_not_judged(const Json& reference, const Json& candidate);
/// If one lacks it (an external record, schema 1), only the rates of the steps are compared.
void compare_learning_rate_schedules(const Manifest& one, const Manifest& other, Differences& differences);

}  // namespace plumbline::judging
