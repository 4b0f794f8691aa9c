// SPDX-License-Identifier: BSD-3-Clause
// What a sweep asks of a run, from the user's run file and the cell's own changes: the other way than through the run
// file that the trainer is given.
#pragma once

#include <string>

#include "harness/judge/request/request.hpp"
#include "harness/sweep/planned_run.hpp"
#include "harness/sweep/sweep_file.hpp"

namespace plumbline {

/// Of a reference. `level`: "" = the run file's own. Throws InputError naming the file: not readable, not TOML.
Request make_request(const SweepFile& sweep, const PlannedReference& reference, const std::string& level = "");

/// Of a cell's pipeline.
Request make_request(const SweepFile& sweep, const PlannedCell& cell, const std::string& level = "");

}  // namespace plumbline
