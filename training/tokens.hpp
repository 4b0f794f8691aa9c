// SPDX-License-Identifier: BSD-3-Clause
// Token ids: of one or several files, mapped into memory, and those that a run names.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "support/mapped_file.hpp"
#include "training/run_file.hpp"
#include "training/token_format.hpp"

namespace plumbline {

/// Throws InputError for an id beyond the vocabulary, the one at index `place` of the file, counted in `unit`s.
[[noreturn]] void refuse_beyond_vocabulary(const std::filesystem::path& path, const std::string& unit,
                                           std::int64_t place, std::int64_t id, std::int64_t vocab_size);

/// Positions count from the first id of the first file. Copies share the files.
class Tokens {
 public:
  /// The files' ids, one file after the other. `vocab_size`: larger or equal ids are errors.
  explicit Tokens(std::int64_t vocab_size) : vocab_size_(vocab_size) {}
  /// Ids in memory.
  explicit Tokens(std::vector<std::int32_t> ids);

  /// Appends a file of this `format`; reads nothing of it.
  void add(const std::filesystem::path& path, std::shared_ptr<const MappedFile> file, const TokenFormat& format);

  std::int64_t size() const { return size_; }
  /// The ids from `position` on, wrapping around. Throws InputError naming file and place of an id beyond the
  /// vocabulary. Requires at least one token.
  void read(std::int64_t position, std::span<std::int64_t> into) const;

 private:
  struct Part {
    std::filesystem::path path;
    std::shared_ptr<const void> owner;  ///< keeps the bytes alive
    const std::byte* bytes;             ///< of the first id
    TokenFormat format;
    std::int64_t first;  ///< position of its first id
  };
  /// Ids of one part, from index `place` on.
  void read_part(const Part& part, std::int64_t place, std::span<std::int64_t> into) const;

  std::int64_t vocab_size_ = std::numeric_limits<std::int64_t>::max();
  std::vector<Part> parts_;
  std::int64_t size_ = 0;
};

/// Files of ids are mapped, not read. A text (byte-level: one id per byte) is read once to check its encoding, and is
/// mapped too. Throws InputError for invalid UTF-8 (with the offset), an empty file, a format that token_format
/// refuses, and files whose ids differ in width.
Tokens load_tokens(const DataSettings& data, std::int64_t vocab_size);
/// The bytes of data.ignore, one for each of the `tokens` tokens; null without the key. Throws InputError for another
/// number of bytes.
std::optional<Tokens> load_ignored(const DataSettings& data, std::int64_t tokens);

}  // namespace plumbline
