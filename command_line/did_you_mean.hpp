// SPDX-License-Identifier: BSD-3-Clause
// Error messages for command lines, with suggestions for misspelled words.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

namespace plumbline {

/// The nearest subcommand or option for the first unknown word, followed by CLI11's message; for
/// CLI::App::failure_message.
std::string message_with_suggestions(const CLI::App* app, const CLI::Error& error);

}  // namespace plumbline
