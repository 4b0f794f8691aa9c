// SPDX-License-Identifier: BSD-3-Clause
// manifest.json checked against docs/record-format.md: the one place that validates it, for writers and readers.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "record/record.hpp"

namespace plumbline {

inline constexpr const char* record_family = "plumbline-record/";
/// What is written, and the oldest that is still read.
inline constexpr std::int64_t record_schema = 2, oldest_schema = 1;
/// "plumbline-record/2"
std::string record_schema_name();

/// Throws InputError naming `path` and the key: missing, of another type, a schema of another version.
Manifest parse_manifest(const std::filesystem::path& path, const Json& json);

}  // namespace plumbline
