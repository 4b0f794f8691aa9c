// manifest.json checked against docs/record-format.md: the one place that validates it, for writers and readers.
#pragma once

#include <filesystem>

#include "record/record.hpp"

namespace plumbline {

/// Name of the schema that this version writes and reads.
inline constexpr const char* record_schema = "plumbline-record/1";

/// Throws InputError naming `path` and the key: missing, of another type, a schema of another version.
Manifest parse_manifest(const std::filesystem::path& path, const Json& json);

}  // namespace plumbline
