// SPDX-License-Identifier: BSD-3-Clause
// One file of ids that a request names, opened a second time: where its ids stand and how wide they are (docs/data.md).
// The judge's own reading; it shares no code with the trainers.
#pragma once

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

namespace plumbline::judging {

class TokenFile {
 public:
  /// `format`: as in a request; a header or an index tells more than it. Throws InputError naming a file whose bytes
  /// are no whole number of ids, or whose header does not count them.
  TokenFile(const std::filesystem::path& path, std::int64_t bytes, const std::string& format);

  std::int64_t tokens() const { return tokens_; }
  /// Adds `count` ids from the file's id number `place` on. Throws InputError where they cannot be read.
  void append(std::int64_t place, std::int64_t count, std::vector<std::int64_t>& ids);

 private:
  std::vector<unsigned char> read(std::int64_t offset, std::int64_t count);
  void set_type_by_index(const std::filesystem::path& index);
  bool take_header();

  std::filesystem::path path_;
  std::ifstream stream_;
  std::int64_t bytes_;
  std::int64_t begin_ = 0;  ///< byte of the first id
  std::int64_t width_ = 1;
  bool signed_ = false;
  std::int64_t tokens_ = 0;
};

}  // namespace plumbline::judging
