// SPDX-License-Identifier: BSD-3-Clause
// The content of a sweep file with users' commands: their words and cases.
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
