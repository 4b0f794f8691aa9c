// SPDX-License-Identifier: BSD-3-Clause
// Tab completion generated from a program's CLI11 description, so that it has every command and option.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

namespace plumbline {

enum class Shell { bash, zsh };

/// A script for the shell's folder of completions: commands, options, the values that are listed, folders and files.
std::string completion(const CLI::App& app, Shell shell);

}  // namespace plumbline
