// SPDX-License-Identifier: BSD-3-Clause
// What a sweep asks of a command of the user's own: what its file names, and nothing else.
#pragma once

#include <string>

#include "harness/judge/request/request.hpp"
#include "harness/sweep/planned_command.hpp"

namespace plumbline {

/// `level`: in place of the file's, where the command has a placeholder for it; "" = the file's own.
Request request_of_command(const PlannedCommand& command, const std::string& level = "");

}  // namespace plumbline
