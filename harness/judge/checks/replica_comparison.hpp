// SPDX-License-Identifier: BSD-3-Clause
// The check `replicas` where all pipelines that trained side by side left a record.
#pragma once

#include <filesystem>
#include <vector>

#include "harness/judge/judgement.hpp"

namespace plumbline::judging {

/// `records`: of the replicas, by number; each can be read to its end. What data parallel replicas must have alike:
/// the start, gradients once they are reduced, parameters and moments after each step. And what must differ: the data.
Judged compare_replicas(const std::vector<std::filesystem::path>& records);

}  // namespace plumbline::judging
