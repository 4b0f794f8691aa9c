// SPDX-License-Identifier: BSD-3-Clause
// Starts two ranks as a sweep does, to test whether they can train.
#pragma once

#include <filesystem>

#include "harness/launch/stop_signals.hpp"
#include "support/json.hpp"

namespace plumbline {

/// {"launcher": "mpirun ...", "asked": 2, "arrived": number that trained a step and ended well, "why_not": null or why
/// fewer}. The run, one step of a tiny model, uses a temporary folder, which is removed. Throws
/// SystemError if a stop was requested.
Json start_two_ranks(const std::filesystem::path& trainers, StopSignals& signals);

}  // namespace plumbline
