// SPDX-License-Identifier: BSD-3-Clause
// Reads a requested file of ids independently of the trainers: the offset and width of its ids (docs/data.md).
#pragma once

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

namespace plumbline::judging {

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

  std::filesystem::path path_;
  std::ifstream stream_;
  std::int64_t bytes_;
  std::int64_t begin_ = 0;  ///< offset of the first id in bytes
  std::int64_t width_ = 1;
  bool signed_ = false;
  std::int64_t tokens_ = 0;
};

}  // namespace plumbline::judging
