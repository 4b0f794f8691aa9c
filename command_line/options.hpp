// SPDX-License-Identifier: BSD-3-Clause
// Options as people write them: what help and completion read of a command, and a check of listed values.
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
/// For CLI::Option::check: refuses other values, with the one that was probably meant.
CLI::Validator one_of(const std::vector<std::string>& values);
/// The values that it may have, where they are listed.
std::vector<std::string> choices_of(const CLI::Option* option);
/// The words that tab completion offers for its value, besides files: words, or "$(...)" that prints some, where
/// "${typed[@]}" is the command line so far, without the program and with an x at its end, so that no word is empty.
/// Not in the help.
void offer(CLI::Option* option, const std::vector<std::string>& words);
/// "DIR", "auto|always|never"; of numbers N and X.
std::string metavariable(const CLI::Option* option);

/// "--out DIR", "-h, --help", "SWEEP.toml", "SHARD...".
std::string option_words(const CLI::Option* option);

}  // namespace plumbline
