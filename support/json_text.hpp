// SPDX-License-Identifier: BSD-3-Clause
// Parsing and formatting of JSON in memory.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "support/json.hpp"

namespace plumbline {

/// Linear in the size. Throws InputError with file, line and column if the text is invalid or nested too deeply. `path`
/// is for the message.
Json parse_json(const std::filesystem::path& path, std::string_view bytes, JsonTexts texts = JsonTexts::printable);

/// On one line, or indented. Invalid UTF-8 (from a command line or log) becomes replacement characters, so that
/// formatting never fails.
std::string json_text(const Json& value, int indent = -1);

/// A string as it is, any other value as JSON.
std::string unquoted(const Json& value);

}  // namespace plumbline
