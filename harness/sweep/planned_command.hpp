// SPDX-License-Identifier: BSD-3-Clause
// A command of the user's own that a sweep is going to start.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "harness/sweep/placeholders.hpp"
#include "harness/sweep/user_commands.hpp"

namespace plumbline {

struct PlannedCommand {
  std::vector<std::string> words;  ///< with placeholders
  Placeholders environment;        ///< variables; their values with placeholders
  Placeholders values;             ///< of the placeholders, but for those that a launch decides
  std::filesystem::path folder;    ///< that it is started in
  std::int64_t ranks = 1;
  bool is_candidate = false;
};

/// What one start of it decides.
struct LaunchPlace {
  std::string record;                 ///< {record}: an absolute path
  std::int64_t port = 0;              ///< {port}: one that is free now
  std::vector<std::string> launcher;  ///< {launcher}: its words, the number of ranks put in
};

struct StartedCommand {
  std::vector<std::string> words;  ///< the program's path is absolute where it is a path
  std::map<std::string, std::string> environment;
};

/// The cell's own commands: a candidate on its ranks, a reference on one. A {level} that the file does not name is
/// full.
PlannedCommand planned_candidate(const CommandCell& cell, const UserCommands& commands);
PlannedCommand planned_reference(const CommandCell& cell, const UserCommands& commands);

/// All placeholders filled in. Throws InputError for one that there is not.
StartedCommand started_command(const PlannedCommand& command, const LaunchPlace& place);

/// Whether a word or variable of it holds the placeholder.
bool uses_placeholder(const PlannedCommand& command, const std::string& name);

/// Whether its value `device` says so.
bool trains_on_gpus(const PlannedCommand& command);

/// What makes two runs the same one: everything but where they write.
std::string identity_of(const PlannedCommand& command);

/// The program that it starts, searched as the launch will. Throws InputError: it is not there, or cannot be executed.
std::filesystem::path program_of(const PlannedCommand& command, const std::vector<std::string>& launcher);

}  // namespace plumbline
