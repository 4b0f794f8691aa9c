// SPDX-License-Identifier: BSD-3-Clause
// A text file line by line, read in chunks: no more of it stands in memory than a chunk and a line.
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <string_view>

namespace plumbline {

/// What to do with a last line that has no line break; `take`: it is a line like the others.
enum class UnfinishedLine { refuse, leave_out, take };

/// "path:line: what", as an InputError.
[[noreturn]] void refuse_line(const std::filesystem::path& path, std::size_t line, const std::string& what);

/// Each line is checked to be text (support/plain_text.hpp). A byte order mark is no part of the first.
class FileLines {
 public:
  /// Throws InputError for a file that cannot be read, that is empty (also by leaving out its only line), and, where
  /// they are refused, for one whose last line is unfinished.
  FileLines(const std::filesystem::path& path, UnfinishedLine unfinished);

  /// The next line with its line break; false at the end. `line` is good until the next call. Throws InputError for
  /// what is no text.
  bool next(std::string_view& line);
  /// Of the line given last, from 1.
  std::size_t number() const { return number_; }
  /// A last line without its line break was left out.
  bool cut_off() const { return cut_off_; }

 private:
  std::size_t find_end() const;
  void fill();
  [[noreturn]] void refuse_unfinished();

  std::filesystem::path path_;
  std::size_t end_ = 0;   ///< of what is read of the file
  std::size_t read_ = 0;  ///< bytes of the file that have been read
  std::string buffer_;
  std::size_t place_ = 0;  ///< in the buffer: where the next line begins
  std::size_t number_ = 0;
  bool cut_off_ = false;
  bool takes_unfinished_ = false;
};

/// Whether the file has one line break at least.
bool has_whole_line(const std::filesystem::path& path);

}  // namespace plumbline
