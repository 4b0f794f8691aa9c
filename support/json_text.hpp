// SPDX-License-Identifier: BSD-3-Clause
// Parsing and formatting of JSON in memory.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "support/json.hpp"

namespace plumbline {

/// Strings and keys are printable (support/plain_text.hpp): a line break within one is written as a backslash and an n. Linear in the size.
/// Throws InputError with file, line and column if the text is invalid or nested too deeply. `path` is for the message.
Json parse_json(const std::filesystem::path& path, std::string_view bytes);

/// On one line, or indented. Invalid UTF-8 (from a command line or log) becomes replacement characters, so that
/// formatting never fails.
std::string json_text(const Json& value, int indent = -1);

/// A string as it is, any other value as JSON.
std::string unquoted(const Json& value);

}  // namespace plumbline
