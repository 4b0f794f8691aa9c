// SPDX-License-Identifier: BSD-3-Clause
// What the command lines of all programs have in common: the form of their help, words that were probably meant, and
// tab completion. CLI11 reads them.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

namespace plumbline {

/// First of all, so that commands take it over. `usage`: what the help says first, where CLI11 does not know what is
/// required; else it is made of what is.
void begin_command_line(CLI::App& app, const std::string& program, const std::string& usage = "");

/// Adds --color to all commands that have none of their own.
void add_color_option(CLI::App& app);

/// As CLI::App::parse; a word that is no command or option is refused beside --help too. Throws CLI::ParseError.
void read_command_line(CLI::App& app, int argc, const char* const* argv);

/// What an exit code means of one command; nothing is said of those that are empty.
struct ExitWords {
  std::string zero = "done";
  std::string one = {};
  std::string two = "the input or the command line is wrong";
  std::string three = "the machine does not allow it";
};
/// For CLI::App::footer: commands that run as they are printed, and exit codes.
std::string help_end(const std::vector<std::string>& examples, const ExitWords& words = {});

}  // namespace plumbline
