// SPDX-License-Identifier: BSD-3-Clause
// Common parts of all command lines: the form of the help, suggestions for misspelled words, and
// tab completion. CLI11 reads them.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

namespace plumbline {

/// To be called first, because subcommands inherit from it. `usage`: the help's first line if CLI11 does not know what
/// is required; by default it is generated.
void begin_command_line(CLI::App& app, const std::string& program, const std::string& usage = "");

/// Adds --color to all commands that lack it.
void add_color_option(CLI::App& app);

/// As CLI::App::parse, but an empty argument is refused (of an unset variable, say), and an unknown command or option
/// also with --help. `help X` is `X --help`, and a program or command without the command that it needs prints its
/// help. Returns whether the program has to go on: not after a help. Throws InputError.
bool read_command_line(CLI::App& app, int argc, const char* const* argv);

/// The meaning of one command's exit codes; empty ones are not printed.
struct ExitWords {
  std::string zero = "done";
  std::string one = {};
  std::string two = "the input or the command line is wrong";
  std::string three = "the machine prevented it: no mpirun, a full disk, ...";
  std::string four = {};
};
/// For CLI::App::footer: commands that run as they are printed, and exit codes.
std::string help_end(const std::vector<std::string>& examples, const ExitWords& words = {});

}  // namespace plumbline
