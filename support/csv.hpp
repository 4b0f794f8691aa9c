// SPDX-License-Identifier: BSD-3-Clause
// RFC 4180 tables with a header row, strict: a ragged row, a truncated file or a missing column is an error with file
// and line.
#pragma once

#include <cstddef>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

namespace plumbline {

struct CsvRow {
  std::size_t line = 0;  ///< 1-based line in the file where the row starts
  std::vector<std::string> cells;
};

struct CsvTable {
  std::filesystem::path path;
  std::vector<std::string> header;  ///< empty for a table read without one
  std::vector<CsvRow> rows;

  bool has(const std::string& column) const;
  /// Index of a column. Throws InputError naming file and column.
  std::size_t column(const std::string& name) const;
};

/// A whole table, as CsvStream (support/csv_stream.hpp) gives it row by row.
///
/// Reads a table whose first row names the columns; every row must be as wide. LF or CRLF; a file not ending in a line
/// break is truncated.
CsvTable read_csv(const std::filesystem::path& path, const std::vector<std::string>& required_columns = {});

/// Reads rows of any width, no header (a schedule file). `finished`: a last row without a line break is refused, as one
/// that is truncated.
CsvTable read_headless_csv(const std::filesystem::path& path, bool finished = true);

/// Appends rows to a new file. Throws SystemError when the disk does not take them.
class CsvWriter {
 public:
  CsvWriter(const std::filesystem::path& path, const std::vector<std::string>& header);
  void row(const std::vector<std::string>& cells);
  void flush();

 private:
  std::filesystem::path path_;
  std::size_t columns_;
  std::ofstream out_;
};

/// Index of a column in a header. Throws InputError naming file and column.
std::size_t column_of(const std::filesystem::path& path, const std::vector<std::string>& header,
                      const std::string& name);

/// One row as text, quoted where RFC 4180 asks for it, with its line break.
std::string csv_line(const std::vector<std::string>& cells);

}  // namespace plumbline
