// SPDX-License-Identifier: BSD-3-Clause
// Token ids: the files that a run names, mapped into memory.
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

/// In reading order: a text, or a folder's .txt files in name order; or the files of data.tokens, one after the other,
/// those that match a pattern in name order, and for an .idx its .bin. Throws InputError if a folder has no .txt file,
/// a pattern matches nothing, an .idx has no .bin, a file is named twice, or a path cannot be resolved.
std::vector<std::filesystem::path> token_files(const DataSettings& data);

/// The files of data.ignore in reading order. Throws InputError as token_files does.
std::vector<std::filesystem::path> ignore_files(const DataSettings& data);

/// As in the run file, for messages and records.
std::string source_text(const DataSettings& data);

/// The number of tokens by the files' sizes and headers alone; null if a file is missing or not a regular file.
std::optional<std::int64_t> tokens_by_size(const DataSettings& data);

/// Throws InputError if a step needs more tokens than there are.
void refuse_short_source(const DataSettings& data, std::int64_t available, std::int64_t needed);

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
