// SPDX-License-Identifier: BSD-3-Clause
// Validation of manifest.json against docs/record-format.md, for writers and readers.
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <string>

#include "record/record.hpp"

namespace plumbline {

inline constexpr const char* record_family = "plumbline-record/";
/// The schema that is written and read.
inline constexpr std::int64_t record_schema = 2;
/// "plumbline-record/2"
std::string record_schema_name();

/// Keys of an optimizer that mark a variant; only external records have them, and their steps are not recomputed.
inline constexpr std::array optimizer_variants = {"nesterov", "dampening", "maximize", "amsgrad", "groups"};

/// True for a config of that type, of an equivalent family with the given keys, or of no type and with the defining
/// keys, if the first unit is `embed_tokens`.
bool is_llama(const Manifest& manifest);

/// Throws InputError naming `path` and the key if it is missing, of a wrong type, or the schema is unsupported.
Manifest parse_manifest(const std::filesystem::path& path, const Json& json);

}  // namespace plumbline
