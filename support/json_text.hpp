// SPDX-License-Identifier: BSD-3-Clause
// JSON as text in memory, both ways.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "support/json.hpp"

namespace plumbline {

/// Throws InputError with file, line and column when broken, or nested deeper than any file that we read. `path` is for
/// the message.
Json parse_json(const std::filesystem::path& path, std::string_view bytes);

/// On one line, or indented. Bytes that are no UTF-8 (of a command line, a log) become replacement characters: showing
/// a value never fails.
std::string json_text(const Json& value, int indent = -1);

}  // namespace plumbline
