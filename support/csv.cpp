// SPDX-License-Identifier: BSD-3-Clause
#include "support/csv.hpp"

#include <csv.h>
#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <new>
#include <stdexcept>
#include <string_view>
#include <unordered_set>
#include <utility>

#include "support/error.hpp"
#include "support/files.hpp"
#include "support/plain_text.hpp"

namespace plumbline {
namespace {

/// libcsv's parser with its callbacks' state. It gets one line at a time, so that rows get line numbers and empty lines
/// are detected.
class Parser {
 public:
  Parser() {
    if (csv_init(&parser_, CSV_STRICT | CSV_STRICT_FINI) != 0) throw std::bad_alloc();
    csv_set_space_func(&parser_, [](unsigned char) { return 0; });  // keeps blanks around a cell
  }
  ~Parser() { csv_free(&parser_); }
  Parser(const Parser&) = delete;
  Parser& operator=(const Parser&) = delete;

  /// Returns false at a misplaced quote.
  bool feed(std::string_view line) {
    ended_rows_ = 0;
    cells_after_end_ = false;
    return csv_parse(&parser_, line.data(), line.size(), &Parser::on_cell, &Parser::on_row_end, this) == line.size();
  }
  /// Returns false inside a quoted cell.
  bool finish() { return csv_fini(&parser_, &Parser::on_cell, &Parser::on_row_end, this) == 0; }
  bool row_ended() const { return ended_rows_ > 0; }
  bool several_rows_on_line() const { return ended_rows_ > 1 || cells_after_end_; }
  /// Swaps the row's cells into `cells`, and reuses the memory of the old ones for the next row.
  void take_cells(std::vector<std::string>& cells) {
    cells_.resize(std::exchange(count_, 0));
    cells.swap(cells_);
  }

 private:
  static void on_cell(void* data, std::size_t bytes, void* self) {
    auto& parser = *static_cast<Parser*>(self);
    parser.cells_after_end_ = parser.ended_rows_ > 0;
    if (parser.count_ == parser.cells_.size()) parser.cells_.emplace_back();
    parser.cells_[parser.count_++].assign(static_cast<const char*>(data), bytes);
  }
  static void on_row_end(int, void* self) { ++static_cast<Parser*>(self)->ended_rows_; }

  csv_parser parser_{};
  std::vector<std::string> cells_;
  std::size_t count_ = 0;  ///< cells of the current row
  int ended_rows_ = 0;
  bool cells_after_end_ = false;
};

}  // namespace

struct CsvRows::State {
  State(const std::filesystem::path& file, UnfinishedLine unfinished) : path(file), lines(file, unfinished) {}

  std::filesystem::path path;
  FileLines lines;
  Parser parser;
};

CsvRows::CsvRows(const std::filesystem::path& path, UnfinishedLine unfinished)
    : state_(std::make_unique<State>(path, unfinished)) {}
CsvRows::~CsvRows() = default;
CsvRows::CsvRows(CsvRows&&) noexcept = default;

bool CsvRows::cut_off() const {
  return state_->lines.cut_off();
}

bool CsvRows::next(CsvRow& row) {
  auto& [path, lines, parser] = *state_;
  bool inside_row = false;  // a quoted cell with a line break continues
  for (std::string_view text; lines.next(text);) {
    if (!inside_row) {
      row.line = lines.number();
      if (text == "\n" || text == "\r\n") {  // libcsv skips empty lines silently
        row.cells.clear();
        return true;
      }
    }
    if (!parser.feed(text))
      refuse_line(path, lines.number(),
                  "a quote is inside an unquoted field, or a field continues after its closing quote");
    if (parser.several_rows_on_line() || (!inside_row && text.front() == '\r'))
      refuse_line(path, lines.number(), "a carriage return without a line feed; write LF or CRLF line ends");
    inside_row = !parser.row_ended();
    if (inside_row) continue;
    parser.take_cells(row.cells);
    return true;
  }
  if (inside_row || !parser.finish())
    refuse_line(path, row.line, "the quoted field that begins here has no end; the file is truncated");
  return false;
}

bool CsvHeader::has(const std::string& column) const {
  return std::ranges::find(header, column) != header.end();
}

std::size_t CsvHeader::column(const std::string& name) const {
  const auto found = std::ranges::find(header, name);
  if (found == header.end()) refuse_line(path, 1, fmt::format("column '{}' is missing", name));
  return static_cast<std::size_t>(found - header.begin());
}

CsvStream::CsvStream(const std::filesystem::path& file, UnfinishedLine unfinished)
    : CsvHeader{file, {}}, rows_(file, unfinished) {
  CsvRow first;
  if (rows_.next(first)) header = std::move(first.cells);
  std::unordered_set<std::string_view> names;
  for (const std::string& name : header)
    if (!names.insert(name).second) refuse_line(path, 1, fmt::format("column '{}' is listed twice", printable(name)));
}

bool CsvStream::next(CsvRow& row) {
  if (!rows_.next(row)) return false;
  if (row.cells.size() != header.size())
    refuse_line(path, row.line,
                fmt::format("the row has {} fields, the header names {} columns", row.cells.size(), header.size()));
  return true;
}

CsvTable read_csv(const std::filesystem::path& path, const std::vector<std::string>& required_columns,
                  std::size_t most) {
  refuse_larger(path, file_bytes(path), most);
  CsvStream stream(path);
  CsvTable table{stream, {}};
  for (const std::string& name : required_columns) table.column(name);
  for (CsvRow row; stream.next(row);) table.rows.push_back(row);
  return table;
}

CsvTable read_headless_csv(const std::filesystem::path& path, bool finished, std::size_t most) {
  refuse_larger(path, file_bytes(path), most);
  CsvTable table{{path, {}}, {}};
  CsvRows rows(path, finished ? UnfinishedLine::refuse : UnfinishedLine::take);
  for (CsvRow row; rows.next(row);) table.rows.push_back(row);
  return table;
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
