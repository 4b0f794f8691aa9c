// SPDX-License-Identifier: BSD-3-Clause
// Reads the requested tokens independently of the trainers: the expected ids and labels of each microbatch of each step
// (docs/data.md).
#pragma once

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "harness/judge/request/request.hpp"

namespace plumbline::judging {

/// A requested file of ids: their offset and width.
class TokenFile {
 public:
  /// `format`: as in a request; a header or an index takes precedence. Throws InputError naming a file whose size is no
  /// whole number of ids, or whose header gives another number.
  TokenFile(const std::filesystem::path& path, std::int64_t bytes, const std::string& format);

  std::int64_t tokens() const { return tokens_; }
  /// Appends `count` ids from id number `place` on. Throws InputError if they cannot be read.
  void append(std::int64_t place, std::int64_t count, std::vector<std::int64_t>& ids);

 private:
  std::vector<unsigned char> read(std::int64_t offset, std::int64_t count);
  void set_type_by_index(const std::filesystem::path& index);
  bool take_header();
  bool take_numpy_header();

  std::filesystem::path path_;
  std::ifstream stream_;
  std::int64_t bytes_;
  std::int64_t begin_ = 0;  ///< offset of the first id in bytes
  std::int64_t width_ = 1;
  bool signed_ = false;
  std::int64_t tokens_ = 0;
};

/// The ids of several files as one list.
class TokenList {
 public:
  /// `whose`: "data", in messages. Throws InputError as TokenFile does and if there is no token.
  TokenList(const std::vector<std::filesystem::path>& files, const std::vector<std::int64_t>& sizes,
            const std::string& format, const char* whose);

  std::int64_t size() const { return size_; }
  /// `count` ids from `position` on; wraps around at the end.
  std::vector<std::int64_t> ids(std::int64_t position, std::int64_t count);

 private:
  struct Part {
    TokenFile file;
    std::int64_t first = 0;  ///< number of tokens in the files before
  };
  std::vector<Part> parts_;
  std::int64_t size_ = 0;
};

class TokenSource {
 public:
  /// Opens the files without reading them. Throws InputError naming a file that is missing, has another size than at
  /// the request, or is no whole number of ids, and for a source without tokens.
  TokenSource(const RequestedData& data, const std::vector<RequestedMicrobatch>& microbatches);

  /// Digest of the int64 tensor [2, batch, sequence] of ids, then labels; reads only the tokens of this microbatch.
  std::string data_digest(std::int64_t step, std::int64_t microbatch);
  /// Number of its labels.
  std::int64_t valid_tokens(std::int64_t step, std::int64_t microbatch);

 private:
  /// Ids, then labels, each [batch, sequence].
  std::vector<std::int64_t> numbers(std::int64_t step, std::int64_t microbatch);
  /// Position of row `row` of microbatch `microbatch`, with `before` tokens of the microbatch in front of it.
  std::int64_t begin(std::int64_t step, std::int64_t microbatch, std::int64_t row, std::int64_t before) const;

  const std::vector<RequestedMicrobatch>& microbatches_;
  TokenList tokens_;
  std::optional<TokenList> ignored_;
  std::vector<std::int64_t> offsets_;  ///< offset of each microbatch's first token within a step; the last entry is the
                                       ///< step's number of tokens
  std::vector<std::int64_t> rows_;     ///< the same for rows
  std::int64_t longest_ = 1;           ///< longest row of a step
  bool windows_ = false;               ///< shuffled
  std::uint64_t seed_ = 1;
  std::int64_t start_ = 0;
};

}  // namespace plumbline::judging
