// SPDX-License-Identifier: BSD-3-Clause
// RFC 4180 tables with a header row. Strict: a ragged row, a truncated file or a missing column is an error with file
// and line.
#pragma once

#include <cstddef>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "support/file_lines.hpp"
#include "support/files.hpp"

namespace plumbline {

struct CsvRow {
  std::size_t line = 0;  ///< 1-based line in the file where the row starts
  std::vector<std::string> cells;
};

/// The first row of a table, which names its columns.
struct CsvHeader {
  std::filesystem::path path;
  std::vector<std::string> header;  ///< empty if read without a header

  bool has(const std::string& column) const;
  /// Index of a column. Throws InputError naming file and column.
  std::size_t column(const std::string& name) const;
};

struct CsvTable : CsvHeader {
  std::vector<CsvRow> rows;
};

/// Reads a table whose first row names the columns; all rows must have its width. Lines end in LF or CRLF; a file
/// without a final line break counts as truncated. A file of more than `most` bytes is refused before it is read.
CsvTable read_csv(const std::filesystem::path& path, const std::vector<std::string>& required_columns = {},
                  std::size_t most = most_by_hand);

/// Reads rows of any width without a header (a schedule file). `finished`: a missing final line break is an error.
/// `most`: as of read_csv.
CsvTable read_headless_csv(const std::filesystem::path& path, bool finished = true, std::size_t most = most_by_hand);

/// Rows of any width, without a header. Errors are InputErrors with file and line.
class CsvRows {
 public:
  CsvRows(const std::filesystem::path& path, UnfinishedLine unfinished);
  ~CsvRows();
  CsvRows(CsvRows&&) noexcept;

  /// Replaces `row` by the next row; returns false at the end.
  bool next(CsvRow& row);
  bool cut_off() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// A table with a header, read row by row; all rows are as wide as the header.
class CsvStream : public CsvHeader {
 public:
  explicit CsvStream(const std::filesystem::path& path, UnfinishedLine unfinished = UnfinishedLine::refuse);

  /// True if a last line without a line break was dropped.
  bool cut_off() const { return rows_.cut_off(); }
  bool next(CsvRow& row);

 private:
  CsvRows rows_;
};

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

/// One row as text with its line break, quoted as RFC 4180 demands.
std::string csv_line(const std::vector<std::string>& cells);

}  // namespace plumbline
