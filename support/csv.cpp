// SPDX-License-Identifier: BSD-3-Clause
#include "support/csv.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <stdexcept>

#include "support/csv_stream.hpp"
#include "support/error.hpp"
#include "support/files.hpp"

namespace plumbline {

bool CsvTable::has(const std::string& name) const {
  return std::find(header.begin(), header.end(), name) != header.end();
}

std::size_t CsvTable::column(const std::string& name) const {
  return column_of(path, header, name);
}

CsvTable read_csv(const std::filesystem::path& path, const std::vector<std::string>& required_columns) {
  CsvStream stream(path);
  CsvTable table{path, stream.header(), {}};
  for (const std::string& name : required_columns) table.column(name);
  for (CsvRow row; stream.next(row);) table.rows.push_back(row);
  return table;
}

CsvTable read_headless_csv(const std::filesystem::path& path, bool finished) {
  CsvTable table{path, {}, {}};
  CsvRows rows(path, finished ? UnfinishedLine::refuse : UnfinishedLine::take);
  for (CsvRow row; rows.next(row);) table.rows.push_back(row);
  return table;
}

std::size_t column_of(const std::filesystem::path& path, const std::vector<std::string>& header,
                      const std::string& name) {
  const auto found = std::find(header.begin(), header.end(), name);
  if (found == header.end()) throw InputError(fmt::format("{}:1: column '{}' is missing", path.string(), name));
  return static_cast<std::size_t>(found - header.begin());
}

std::string csv_line(const std::vector<std::string>& cells) {
  std::string line;
  for (std::size_t i = 0; i < cells.size(); ++i) {
    if (i > 0) line += ',';
    const std::string& cell = cells[i];
    // A single empty cell is quoted, because an empty line is no row.
    if (cell.find_first_of(",\"\r\n") == std::string::npos && !(cells.size() == 1 && cell.empty())) {
      line += cell;
      continue;
    }
    line += '"';
    for (const char letter : cell) line.append(letter == '"' ? 2 : 1, letter);
    line += '"';
  }
  return line + "\n";
}

CsvWriter::CsvWriter(const std::filesystem::path& path, const std::vector<std::string>& header)
    : path_(path), columns_(header.size()), out_(path, std::ios::binary | std::ios::trunc) {
  row(header);
  flush();
}

void CsvWriter::row(const std::vector<std::string>& cells) {
  if (cells.size() != columns_)
    throw std::logic_error(
        fmt::format("{}: a row of {} fields for {} columns", path_.string(), cells.size(), columns_));
  out_ << csv_line(cells);
  if (!out_) flush();
}

void CsvWriter::flush() {
  if (!out_.flush()) fail_writing(path_, errno);
}

}  // namespace plumbline
