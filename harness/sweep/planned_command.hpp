// SPDX-License-Identifier: BSD-3-Clause
// A command that a sweep will start: a user's, or the template of one of Plumbline's trainers (run_commands.hpp).
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "harness/sweep/user_commands.hpp"

namespace plumbline {

struct PlannedCommand {
  std::vector<std::string> words;  ///< with placeholders
  Placeholders environment;        ///< environment variables; values with placeholders
  Placeholders values;             ///< values of placeholders, except those decided per launch
  std::filesystem::path folder;    ///< working folder; empty: plumbline's own
  std::int64_t ranks = 1;
  bool is_candidate = false;
  std::string trainer = {};  ///< the name of Plumbline's trainer that {trainer} starts; empty for a user's command
  std::map<std::string, std::string> files = {};  ///< of the launch folder, by name; {run} is the path of run.toml
};

/// Values decided per launch.
struct LaunchPlace {
  std::string record;                 ///< {record}: an absolute path
  std::int64_t port = 0;              ///< {port}: a free port
  std::vector<std::string> launcher;  ///< {launcher}: its words with the number of ranks filled in
};

struct StartedCommand {
  std::vector<std::string> words;  ///< the program is a name or an absolute path
  std::map<std::string, std::string> environment;
};

/// The case's commands: a candidate on its ranks, a reference on one. Default of {level}: full.
PlannedCommand planned_candidate(const CommandCell& cell, const UserCommands& commands);
PlannedCommand planned_reference(const CommandCell& cell, const UserCommands& commands);

/// Fills in all placeholders. Throws InputError for an unknown one.
StartedCommand started_command(const PlannedCommand& command, const LaunchPlace& place);

/// True if a word or variable contains the placeholder.
bool uses_placeholder(const PlannedCommand& command, const std::string& name);

/// True if its value `device` is cuda.
bool trains_on_gpus(const PlannedCommand& command);

/// Identity of a run: everything except output paths.
std::string identity_of(const PlannedCommand& command);

/// The program's path, searched as at the launch. Throws InputError if it is missing or not executable.
std::filesystem::path program_of(const PlannedCommand& command, const std::vector<std::string>& launcher);

}  // namespace plumbline
