// SPDX-License-Identifier: BSD-3-Clause
// Formats of token files: raw ids, numpy's .npy, llm.c's, or with Megatron's index file (docs/data.md).
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>

namespace plumbline {

struct TokenFormat {
  std::int64_t offset = 0;  ///< bytes before the first id
  std::int64_t width = 2;   ///< bytes per id, little-endian
  bool is_signed = false;
  std::int64_t count = 0;  ///< ids

  /// "uint16", "int32"
  std::string type() const;
};

/// Path of Megatron's index for a file of ids: NAME.idx for NAME.bin.
std::optional<std::filesystem::path> index_beside(const std::filesystem::path& path);

/// The format of a file with these bytes; reads only its header. `token_type`: uint16 or uint32, for a raw file; null:
/// uint16. Throws InputError naming the file: no ids, not a whole number of ids, an archive or another known format
/// without ids, a header that is truncated, of an unknown version, counts other ids than the file has, or has another
/// width than `token_type`.
TokenFormat token_format(const std::filesystem::path& path, std::span<const std::byte> bytes,
                         const std::optional<std::string>& token_type);

}  // namespace plumbline
