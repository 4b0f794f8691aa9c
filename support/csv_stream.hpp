// SPDX-License-Identifier: BSD-3-Clause
// An RFC 4180 table row by row, strict, in memory that does not depend on its length.
#pragma once

#include <cstddef>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "support/csv.hpp"
#include "support/file_lines.hpp"

namespace plumbline {

/// Rows of any width, no header. Its errors are InputErrors with file and line.
class CsvRows {
 public:
  CsvRows(const std::filesystem::path& path, UnfinishedLine unfinished);
  ~CsvRows();
  CsvRows(CsvRows&&) noexcept;

  /// The next row in place of what `row` held; false at the end.
  bool next(CsvRow& row);
  bool cut_off() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// Rows as wide as the header, which the file begins with.
class CsvStream {
 public:
  explicit CsvStream(const std::filesystem::path& path, UnfinishedLine unfinished = UnfinishedLine::refuse);

  const std::filesystem::path& path() const { return path_; }
  const std::vector<std::string>& header() const { return header_; }
  bool has(const std::string& column) const;
  std::size_t column(const std::string& name) const { return column_of(path_, header_, name); }
  /// A last line without its line break was left out.
  bool cut_off() const { return rows_.cut_off(); }
  bool next(CsvRow& row);

 private:
  std::filesystem::path path_;
  CsvRows rows_;
  std::vector<std::string> header_;
};

}  // namespace plumbline
