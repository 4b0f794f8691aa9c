// SPDX-License-Identifier: BSD-3-Clause
// RFC 4180 tables with a header row. Strict: a ragged row, a truncated file or a missing column is an error with file
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
  std::vector<std::string> header;  ///< empty if read without a header
  std::vector<CsvRow> rows;

  bool has(const std::string& column) const;
  /// Index of a column. Throws InputError naming file and column.
  std::size_t column(const std::string& name) const;
};

/// Reads a table whose first row names the columns; all rows must have its width. Lines end in LF or CRLF; a file
/// without a final line break counts as truncated.
CsvTable read_csv(const std::filesystem::path& path, const std::vector<std::string>& required_columns = {});

/// Reads rows of any width without a header (a schedule file). `finished`: a missing final line break is an error.
CsvTable read_headless_csv(const std::filesystem::path& path, bool finished = true);

/// Writes rows to a new file. Throws SystemError if writing fails.
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

/// One row as text with its line break, quoted as RFC 4180 demands.
std::string csv_line(const std::vector<std::string>& cells);

}  // namespace plumbline
