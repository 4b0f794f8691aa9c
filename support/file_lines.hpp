// SPDX-License-Identifier: BSD-3-Clause
// A text file, read line by line; holds one chunk and one line in memory.
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <string_view>

namespace plumbline {

/// How to treat a last line without a line break; `take`: like any other line.
enum class UnfinishedLine { refuse, leave_out, take };

/// "path:line: what", as an InputError.
[[noreturn]] void refuse_line(const std::filesystem::path& path, std::size_t line, const std::string& what);

/// Checks that each line is text (support/plain_text.hpp). Skips a byte order mark.
class FileLines {
 public:
  /// Throws InputError if the file cannot be read, is empty (or becomes so by dropping its only line), or if its last
  /// line is unfinished and `unfinished` is `refuse`.
  FileLines(const std::filesystem::path& path, UnfinishedLine unfinished);

  /// The next line with its line break; returns false at the end. `line` is valid until the next call. Throws
  /// InputError if it is no text or longer than 64 MiB.
  bool next(std::string_view& line);
  /// Number of the last returned line, from 1.
  std::size_t number() const { return number_; }
  /// True if a last line without a line break was dropped.
  bool cut_off() const { return cut_off_; }

 private:
  std::size_t find_end() const;
  void fill();
  [[noreturn]] void refuse_unfinished();

  std::filesystem::path path_;
  std::size_t end_ = 0;   ///< end of the part that is read
  std::size_t read_ = 0;  ///< bytes read so far
  std::string buffer_;
  std::size_t place_ = 0;  ///< offset of the next line in the buffer
  std::size_t number_ = 0;
  bool cut_off_ = false;
  bool takes_unfinished_ = false;
};

/// True if the file has at least one line break.
bool has_whole_line(const std::filesystem::path& path);

}  // namespace plumbline
