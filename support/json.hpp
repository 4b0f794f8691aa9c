// SPDX-License-Identifier: BSD-3-Clause
// JSON files, with errors that name the file, and without the silent NaN -> null.
#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>

namespace plumbline {

using Json = nlohmann::ordered_json;

/// Throws InputError with file, line and column when missing or broken.
Json read_json(const std::filesystem::path& path);

/// Writes through a temporary name and a rename, indented by two, with a final line break. Throws SystemError on a full
/// disk and std::logic_error when `value` holds a NaN or infinity (JSON has none: write null or a text on purpose).
void write_json(const std::filesystem::path& path, const Json& value);

/// Whether both hold the same, in whatever order the keys of objects stand: `==` of two Json heeds that order.
bool same_content(const Json& one, const Json& other);

}  // namespace plumbline
