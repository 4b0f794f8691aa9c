// SPDX-License-Identifier: BSD-3-Clause
// The cases of a sweep file with users' commands, whose words have placeholders that are filled in per run; and a
// command that a sweep will start: a user's, or the template of one of Plumbline's trainers (run_commands.hpp).
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace plumbline {

using Placeholders = std::map<std::string, std::string>;

/// The names in braces, in order; {{ and }} are literal braces. Throws InputError for a single brace.
std::vector<std::string> placeholders_in(const std::string& text);

/// Replaces every name by its value. Throws InputError for an unknown name, listing the known ones, and for a single
/// brace.
std::string filled_in(const std::string& text, const Placeholders& values);

/// Layers of a model, the same limit as in the trainers. Each layer is a named unit; real models are far below it.
inline constexpr std::int64_t most_layers = 100000;
inline constexpr std::int64_t largest_world = 1024;

struct CommandCell {
  std::int64_t world_size = 0;               ///< ranks of all places
  std::map<std::string, std::int64_t> mesh;  ///< axes other than the pipeline's, by name
  std::optional<std::string> schedule;
  std::vector<std::string> reference, candidate;  ///< words with placeholders
  Placeholders values;                            ///< requested settings, and the user's own
  std::vector<std::string> own;                   ///< names of values set by this case
  std::string where;                              ///< "sweep.toml:12:1, key cell", for messages
};

struct UserCommands {
  std::filesystem::path folder;  ///< absolute folder of the sweep file, the commands' working folder
  Placeholders environment;      ///< variables and values with placeholders
  bool use_launcher = false;     ///< a command has {launcher}
  std::vector<CommandCell> cells;
};

/// The word of a command that is replaced by all words of the sweep's launcher.
inline constexpr const char* launcher_word = "{launcher}";

/// In a user's reference command: the record whose norms it replays; empty unless replaying() (run_commands.hpp) sets
/// it.
inline constexpr const char* norms_placeholder = "norms_from";

struct PlannedCommand {
  std::vector<std::string> words;  ///< with placeholders
  Placeholders environment;        ///< environment variables; values with placeholders
  Placeholders values;             ///< values of placeholders, except those decided per launch
  std::filesystem::path folder;    ///< working folder; empty: plumbline's own
  std::int64_t ranks = 1;
  std::map<std::string, std::int64_t> mesh = {};  ///< axes other than the pipeline's, by name
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
