// SPDX-License-Identifier: BSD-3-Clause
// JSON files. Errors name the file; NaN is not silently written as null.
#pragma once

#include <cstddef>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "support/files.hpp"

namespace plumbline {

using Json = nlohmann::ordered_json;

/// What becomes of strings and keys: they go into messages, pages and tables, so each is made printable
/// (support/plain_text.hpp) unless it has the bytes of another file.
enum class JsonTexts { printable, as_written };

/// Throws InputError with file, line and column if the file is missing, larger than `most` or invalid.
Json read_json(const std::filesystem::path& path, std::size_t most = most_of_json,
               JsonTexts texts = JsonTexts::printable);

/// Writes to a temporary name, then renames; indented by two, with a final line break. Throws SystemError on a full
/// disk and std::logic_error if `value` holds a NaN or infinity (JSON has none: write null or a text explicitly).
void write_json(const std::filesystem::path& path, const Json& value);

/// Equality that ignores the order of keys in objects, unlike `==` of Json.
bool same_content(const Json& one, const Json& other);

}  // namespace plumbline
