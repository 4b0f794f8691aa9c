// SPDX-License-Identifier: BSD-3-Clause
// Text for people: as wide as the terminal, without digests, in colour where that is shown.
#pragma once

#include <cstddef>
#include <cstdio>
#include <optional>
#include <string>

namespace plumbline {

/// The columns of the terminal that `out` is; nothing where it is none.
std::optional<std::size_t> terminal_width(std::FILE* out);

/// What lines to `out` may take: the terminal's columns, else those of the variable COLUMNS, else 80.
std::size_t line_width(std::FILE* out);

/// Lines that are longer are broken at blanks. What follows is indented as the line's last column, where it is one of a
/// table (columns are two blanks or more apart), else by two more than the line. A word that is longer stays whole.
std::string wrapped(const std::string& text, std::size_t width);

/// A command that is longer goes on in lines that a shell reads as one.
std::string wrapped_command(const std::string& command, std::size_t width);

/// " (expected <digest>, got <digest>)" tells people nothing, and goes; of other digests 8 digits stay.
std::string without_digests(const std::string& text);

enum class Colours { where_terminal, always, never };
/// For the whole program. At first it is where_terminal; the variable NO_COLOR then makes it never.
void choose_colours(Colours colours);
bool shows_colours(std::FILE* out);

/// Verdicts and outcomes coloured: what holds green, what does not red, warnings yellow. One word of each line.
std::string coloured(const std::string& text);

/// All of these, for text that is whole lines.
std::string for_people(const std::string& text, std::FILE* out);
void print_text(const std::string& text, std::FILE* out = stdout);

}  // namespace plumbline
