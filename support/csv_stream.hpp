// SPDX-License-Identifier: BSD-3-Clause
// Strict streaming reader of RFC 4180 tables; memory does not depend on the number of rows.
#pragma once

#include <cstddef>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "support/csv.hpp"
#include "support/file_lines.hpp"

namespace plumbline {

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

/// A table with a header; all rows are as wide as the header.
class CsvStream {
 public:
  explicit CsvStream(const std::filesystem::path& path, UnfinishedLine unfinished = UnfinishedLine::refuse);

  const std::filesystem::path& path() const { return path_; }
  const std::vector<std::string>& header() const { return header_; }
  bool has(const std::string& column) const;
  std::size_t column(const std::string& name) const { return column_of(path_, header_, name); }
  /// True if a last line without a line break was dropped.
  bool cut_off() const { return rows_.cut_off(); }
  bool next(CsvRow& row);

 private:
  std::filesystem::path path_;
  CsvRows rows_;
  std::vector<std::string> header_;
};

}  // namespace plumbline
