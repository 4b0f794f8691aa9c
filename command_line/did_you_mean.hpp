// SPDX-License-Identifier: BSD-3-Clause
// A command line that cannot be read, told with the words that were probably meant.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

namespace plumbline {

/// The nearest subcommand or option for the first word that is none, and then what CLI11 says of the mistake; for
/// CLI::App::failure_message.
std::string told_with_near_words(const CLI::App* app, const CLI::Error& error);

}  // namespace plumbline
