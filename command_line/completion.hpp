// SPDX-License-Identifier: BSD-3-Clause
// Tab completion, made of what CLI11 knows of a program, so that it knows every command and option there is.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

namespace plumbline {

enum class Shell { bash, zsh };

/// A script for the shell's folder of completions: commands, options, the values that are listed, folders and files.
std::string completion(const CLI::App& app, Shell shell);

}  // namespace plumbline
