// SPDX-License-Identifier: BSD-3-Clause
// Checks and rewrites TOML text before toml++ parses it. toml++'s table of blanks has a branch declared unreachable,
// which many non-ASCII characters reach wherever the parser looks for blanks.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace plumbline {

/// Returns equivalent TOML in which the parser never sees non-ASCII characters where it looks for blanks: the first
/// character after a line-ending backslash is escaped (\U000000E9). Throws InputError with file, line and column at a
/// non-ASCII character outside of strings and comments, or right after a backslash in a multi-line string; both are
/// invalid TOML. `bytes` must be UTF-8; `path` is for messages.
std::string with_blanks_in_ascii(const std::filesystem::path& path, std::string_view bytes);

}  // namespace plumbline
