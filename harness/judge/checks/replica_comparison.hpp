// SPDX-License-Identifier: BSD-3-Clause
// The check `replicas` for records of all data parallel pipelines.
#pragma once

#include <filesystem>
#include <vector>

#include "harness/judge/check_result_builder.hpp"

namespace plumbline::judging {

/// `records`: one per replica, by number; all must be readable to the end. The start, the reduced gradients, and
/// parameters and moments after each step must agree between replicas. The data must differ.
LocatedResult compare_replicas(const std::vector<std::filesystem::path>& records);

}  // namespace plumbline::judging
