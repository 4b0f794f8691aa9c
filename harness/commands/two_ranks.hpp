// SPDX-License-Identifier: BSD-3-Clause
// Two ranks, started as a sweep starts them, to see whether they arrive.
#pragma once

#include <filesystem>

#include "harness/launch/stop_signals.hpp"
#include "support/json.hpp"

namespace plumbline {

/// {"launcher": "mpirun ...", "asked": 2, "arrived": how many trained a step and ended well, "why_not": null or why
/// fewer}. The run, of one step of a model of next to nothing, lies in a temporary folder that is removed. Throws
/// SystemError where a stop was asked for.
Json start_two_ranks(const std::filesystem::path& trainers, StopSignals& signals);

}  // namespace plumbline
