// SPDX-License-Identifier: BSD-3-Clause
// What a sweep file says that starts trainers which are not Plumbline's: the words of its commands, and its cells.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "harness/sweep/placeholders.hpp"

namespace plumbline {

struct CommandCell {
  std::int64_t world_size = 0;
  std::optional<std::string> schedule;
  std::vector<std::string> reference, candidate;  ///< words with placeholders
  Placeholders values;                            ///< what is asked of the run, and the user's own
  std::vector<std::string> own;                   ///< names of values that this cell gives itself
  std::string where;                              ///< "sweep.toml:12:1, key cell": for messages
};

struct UserCommands {
  std::filesystem::path folder;  ///< of the sweep file, absolute: commands are started in it
  Placeholders environment;      ///< variables and their values, with placeholders
  bool use_launcher = false;     ///< a command holds {launcher}
  std::vector<CommandCell> cells;
};

/// A word of a command that stands for all words of the sweep's launcher.
inline constexpr const char* launcher_word = "{launcher}";

}  // namespace plumbline
