// SPDX-License-Identifier: BSD-3-Clause
// Builds the request of a run from the user's run file and the case's changes, independently of the run file that the
// trainer gets.
#pragma once

#include <string>

#include "harness/judge/request/request.hpp"
#include "harness/sweep/planned_run.hpp"
#include "harness/sweep/sweep_file.hpp"

namespace plumbline {

/// For a reference. `level`: "" = that of the run file. Throws InputError naming the file: not readable, not TOML.
Request make_request(const SweepFile& sweep, const PlannedReference& reference, const std::string& level = "");

/// For a case's pipeline.
Request make_request(const SweepFile& sweep, const PlannedCell& cell, const std::string& level = "");

}  // namespace plumbline
