// SPDX-License-Identifier: BSD-3-Clause
// The last error line of a program.
#pragma once

#include <cstdint>
#include <filesystem>
#include <limits>
#include <string>

namespace plumbline {

/// The last line of `output` that the program itself wrote ("<program>: ...", or a rank's "rank 2 ended the run: ...");
/// else the last one outside of banners that is neither blank nor a rule; else the first banner that has more than
/// which rank ended, in one line. Launchers print banners behind the ranks' output, and several for one error: the
/// first has the cause. Empty without one. An empty `program` is unknown. `most_bytes`: later output is ignored. A
/// loader's line about a LibTorch that is not the program's is put in words.
std::string last_error_line(const std::filesystem::path& output, const std::string& program,
                            std::uintmax_t most_bytes = std::numeric_limits<std::uintmax_t>::max());

/// The content of a launcher's banner in one line: its first lines, without rules; at most 400 characters.
std::string banner_text(const std::string& output);

/// True if the program itself wrote this line.
bool is_own_line(const std::string& line, const std::string& program);

}  // namespace plumbline
