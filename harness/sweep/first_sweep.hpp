// SPDX-License-Identifier: BSD-3-Clause
// The first sweep file of a user, from the commands that they type, or from a text for Plumbline's own trainers.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace plumbline {

struct FirstSweep {
  std::vector<std::string> reference, candidate;  ///< words with placeholders
  std::vector<std::int64_t> world_sizes;
  std::vector<std::string> schedules;  ///< empty: the candidate's command names none
};

/// Options that a trainer may do without, and that first_sweep adds.
inline const std::vector<std::string> optional_options = {"--level", "--norms-from"};

/// Puts placeholders in place of the values of --record, --level, --norms-from (of the reference), --schedule, the port
/// and the number of ranks (`ranks` if the command names none), and adds the first three if they are missing. Throws
/// InputError for an empty command and if the number of ranks is unknown.
FirstSweep first_sweep(std::vector<std::string> reference, std::vector<std::string> candidate,
                       std::optional<std::int64_t> ranks);

/// Removes this option and its placeholder from both commands; returns whether one had it.
bool remove_option(FirstSweep& sweep, const std::string& option);

/// As TOML, with a comment for each key.
std::string text_of(const FirstSweep& sweep);

/// sweep.toml, run.toml and config.json for a small model over this text, whose size decides the lengths of rows.
/// Throws InputError if it cannot be read or is too short.
std::map<std::string, std::string> first_files_for_text(const std::filesystem::path& text);

}  // namespace plumbline
