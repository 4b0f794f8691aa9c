// SPDX-License-Identifier: BSD-3-Clause
// What a TOML text must be before toml++ reads it. toml++'s table of blanks has a branch that it declares unreachable,
// and that many characters beyond ASCII reach wherever the parser looks for blanks.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace plumbline {

/// `bytes` as the same TOML, in which the parser meets characters beyond ASCII only where it looks for no blanks: the
/// first character after a line-ending backslash is escaped (\U000000E9). Throws InputError with file, line and column
/// at a character beyond ASCII outside of strings and comments, and at one right after a backslash of a multi-line
/// string; no TOML has either. `bytes` must be UTF-8; `path` is for the message.
std::string with_blanks_in_ascii(const std::filesystem::path& path, std::string_view bytes);

}  // namespace plumbline
