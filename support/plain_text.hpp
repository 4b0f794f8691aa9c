// SPDX-License-Identifier: BSD-3-Clause
// The common rule of all text that we read and print: UTF-8 without control characters.
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <string_view>

namespace plumbline {

/// "<line>:<column>" of the byte at `offset`. The column counts characters from 1, the line from `first_line`.
std::string place_in_text(std::string_view bytes, std::size_t offset, std::size_t first_line = 1);

/// Throws InputError with file, line and column at the first byte that is invalid UTF-8 or a control character other
/// than tab, line feed and carriage return. `path` and `first_line`, the line of the first byte, are for the message.
void refuse_what_is_no_text(const std::filesystem::path& path, std::string_view bytes, std::size_t first_line = 1);

/// Text that others wrote, for one line of output: control characters, line breaks, marks that change the direction of
/// text and bytes that are not UTF-8 are written as \n, \x1b or \u202e. Other text is unchanged.
std::string printable(std::string_view text);
/// True if printable() changes nothing.
bool is_printable(std::string_view text);

/// Our own text in lines, before it is printed: printable() of each line; a line that CI systems would take for a
/// command
/// ("::error ...", "##[error]...") begins with an escaped character.
std::string printable_lines(std::string_view text);

}  // namespace plumbline
