// SPDX-License-Identifier: BSD-3-Clause
// Text for terminals: wrapped to the width, without digests, colored if supported.
#pragma once

#include <cstddef>
#include <cstdio>
#include <limits>
#include <optional>
#include <string>

namespace plumbline {

/// Columns of the terminal `out`; nullopt if it is no terminal.
std::optional<std::size_t> terminal_width(std::FILE* out);

constexpr std::size_t no_limit = std::numeric_limits<std::size_t>::max();
/// Width of lines on `out`: the terminal's columns, else the variable COLUMNS, else no limit: piped and logged output
/// is searched line by line.
std::size_t line_width(std::FILE* out);

/// Breaks longer lines at blanks. Continuations are indented like the last column of a table's line (columns are two
/// blanks or more apart), else by two more than the line. Longer words stay whole.
std::string wrapped(const std::string& text, std::size_t width);

/// Breaks a longer command with backslashes, so that a shell reads it as one line.
std::string wrapped_command(const std::string& command, std::size_t width, std::size_t indent = 0);

/// Removes " (expected <digest>, got <digest>)" and truncates other digests to 8 digits.
std::string without_digests(const std::string& text);

enum class Colors { where_terminal, always, never };
/// Process-wide; the default is where_terminal, or never if NO_COLOR is set.
void choose_colors(Colors colors);
bool shows_colors(std::FILE* out);

/// Colors one verdict or outcome per line: green holds, red does not, yellow warns.
std::string colored(const std::string& text);

/// All of the above, for whole lines of printable text (support/plain_text.hpp).
std::string for_people(const std::string& text, std::FILE* out);
void print_text(const std::string& text, std::FILE* out = stdout);

}  // namespace plumbline
