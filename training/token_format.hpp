// SPDX-License-Identifier: BSD-3-Clause
// How ids stand in a file of tokens: raw, behind llm.c's header, or with Megatron's index beside it (docs/data.md).
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
  std::int64_t width = 2;   ///< bytes an id, little-endian
  bool is_signed = false;
  std::int64_t count = 0;  ///< ids

  /// "uint16", "int32"
  std::string type() const;
};

/// Megatron's index, where it stands beside a file of ids: NAME.idx for NAME.bin.
std::optional<std::filesystem::path> index_beside(const std::filesystem::path& path);

/// Of the file with these bytes, of which the header is looked at and nothing more. `token_type`: uint16 or uint32, of
/// a raw file; nothing: uint16. Throws InputError naming the file: no ids, no whole number of them, a header that is
/// truncated, of another version, counts other ids than there are, or says another width than `token_type`.
TokenFormat token_format(const std::filesystem::path& path, std::span<const std::byte> bytes,
                         const std::optional<std::string>& token_type);

}  // namespace plumbline
