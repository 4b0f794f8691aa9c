// SPDX-License-Identifier: BSD-3-Clause
// What help and completion read of a command: its options, as people write them.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

namespace plumbline {

/// Positional ones too, not those that are hidden.
std::vector<const CLI::Option*> shown_options(const CLI::App* app);
std::vector<const CLI::App*> subcommands_of(const CLI::App* app);

/// "--out", "-h".
std::vector<std::string> option_names(const CLI::Option* option);

bool takes_value(const CLI::Option* option);
/// The values that it may have, where they are listed.
std::vector<std::string> choices_of(const CLI::Option* option);
/// "DIR", "auto|always|never"; of numbers N and X.
std::string metavariable(const CLI::Option* option);

/// "--out DIR", "-h, --help", "SWEEP.toml", "SHARD...".
std::string option_words(const CLI::Option* option);

}  // namespace plumbline
