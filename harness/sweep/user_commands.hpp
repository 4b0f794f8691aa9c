// SPDX-License-Identifier: BSD-3-Clause
// The content of a sweep file with users' commands: their cases and words, with placeholders that are filled in per
// run.
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
  std::int64_t world_size = 0;
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

}  // namespace plumbline
