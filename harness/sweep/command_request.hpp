// SPDX-License-Identifier: BSD-3-Clause
// The request for a user's command: only the keys of the sweep file.
#pragma once

#include <string>

#include "harness/judge/request/request.hpp"
#include "harness/sweep/planned_command.hpp"

namespace plumbline {

/// `level`: replaces the file's, for commands with a placeholder for it; "" = that of the file.
Request request_of_command(const PlannedCommand& command, const std::string& level = "");

}  // namespace plumbline
