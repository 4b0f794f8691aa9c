#include "support/csv.hpp"

#include <csv.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <stdexcept>
#include <string_view>
#include <utility>

#include "support/error.hpp"
#include "support/files.hpp"
#include "support/plain_text.hpp"

namespace plumbline {
namespace {

[[noreturn]] void fail(const std::filesystem::path& path, std::size_t line, const std::string& what) {
  throw InputError(path.string() + ":" + std::to_string(line) + ": " + what);
}

/// libcsv's parser with its callbacks' state. It is fed line by line, so that rows get line numbers and empty lines
/// show.
class Parser {
 public:
  Parser() {
    if (csv_init(&parser_, CSV_STRICT | CSV_STRICT_FINI) != 0) throw std::bad_alloc();
    csv_set_space_func(&parser_, [](unsigned char) { return 0; });  // else blanks around a cell are cut off
  }
  ~Parser() { csv_free(&parser_); }
  Parser(const Parser&) = delete;
  Parser& operator=(const Parser&) = delete;

  /// False at a quote where none may stand.
  bool feed(std::string_view line) {
    ended_rows_ = 0;
    cells_after_end_ = false;
    return csv_parse(&parser_, line.data(), line.size(), &Parser::on_cell, &Parser::on_row_end, this) == line.size();
  }
  /// False inside a quoted cell.
  bool finish() { return csv_fini(&parser_, &Parser::on_cell, &Parser::on_row_end, this) == 0; }
  bool row_ended() const { return ended_rows_ > 0; }
  bool several_rows_on_line() const { return ended_rows_ > 1 || cells_after_end_; }
  std::vector<std::string> take_cells() { return std::exchange(cells_, {}); }

 private:
  static void on_cell(void* data, std::size_t bytes, void* self) {
    auto& parser = *static_cast<Parser*>(self);
    parser.cells_after_end_ = parser.ended_rows_ > 0;
    parser.cells_.emplace_back(static_cast<const char*>(data), bytes);
  }
  static void on_row_end(int, void* self) { ++static_cast<Parser*>(self)->ended_rows_; }

  csv_parser parser_{};
  std::vector<std::string> cells_;
  int ended_rows_ = 0;
  bool cells_after_end_ = false;
};

std::vector<CsvRow> parse(const std::filesystem::path& path, std::string_view bytes) {
  constexpr std::string_view byte_order_mark = "\xEF\xBB\xBF";
  if (bytes.starts_with(byte_order_mark)) bytes.remove_prefix(byte_order_mark.size());
  if (bytes.empty()) fail(path, 1, "the file is empty; it may be truncated");
  refuse_what_is_no_text(path, bytes);  // names go from here into pages, messages and JSON
  if (bytes.back() != '\n') {
    const auto lines = static_cast<std::size_t>(std::count(bytes.begin(), bytes.end(), '\n'));
    fail(path, lines + 1, "the file ends without a line break; it is truncated");
  }

  Parser parser;
  std::vector<CsvRow> rows;
  bool inside_row = false;  // a quoted cell with a line break is open
  std::size_t row_line = 0;
  for (std::size_t line = 1; !bytes.empty(); ++line) {
    const std::size_t end = bytes.find('\n') + 1;
    const std::string_view text = bytes.substr(0, end);
    bytes.remove_prefix(end);
    if (!inside_row) {
      row_line = line;
      if (text == "\n" || text == "\r\n") {  // libcsv passes over it in silence
        rows.push_back({line, {}});
        continue;
      }
    }
    if (!parser.feed(text))
      fail(path, line, "a quote stands inside an unquoted cell, or a cell goes on after its closing quote");
    if (parser.several_rows_on_line() || (!inside_row && text.front() == '\r'))
      fail(path, line, "a carriage return without a line feed; write LF or CRLF line ends");
    inside_row = !parser.row_ended();
    if (!inside_row) rows.push_back({row_line, parser.take_cells()});
  }
  if (inside_row || !parser.finish())
    fail(path, row_line, "the quoted cell that begins here has no end; the file is truncated");
  return rows;
}

}  // namespace

bool CsvTable::has(const std::string& name) const {
  return std::find(header.begin(), header.end(), name) != header.end();
}

std::size_t CsvTable::column(const std::string& name) const {
  const auto found = std::find(header.begin(), header.end(), name);
  if (found == header.end()) fail(path, 1, "column '" + name + "' is missing");
  return static_cast<std::size_t>(found - header.begin());
}

CsvTable read_csv(const std::filesystem::path& path, const std::vector<std::string>& required_columns,
                  UnfinishedLine unfinished) {
  std::string bytes = read_file(path);
  const std::size_t finished = bytes.rfind('\n') + 1;  // 0 when there is no line break at all
  const bool cut_off = unfinished == UnfinishedLine::leave_out && finished < bytes.size();
  if (cut_off) bytes.resize(finished);
  CsvTable table{path, {}, parse(path, bytes), cut_off};
  table.header = std::move(table.rows.front().cells);
  table.rows.erase(table.rows.begin());
  for (const std::string& name : table.header)
    if (std::count(table.header.begin(), table.header.end(), name) > 1)
      fail(path, 1, "column '" + name + "' stands twice");
  for (const std::string& name : required_columns) table.column(name);
  for (const CsvRow& row : table.rows)
    if (row.cells.size() != table.header.size())
      fail(path, row.line,
           "the row has " + std::to_string(row.cells.size()) + " cells, the header names " +
               std::to_string(table.header.size()) + " columns");
  return table;
}

CsvTable read_headless_csv(const std::filesystem::path& path) {
  return {path, {}, parse(path, read_file(path)), false};
}

std::string csv_line(const std::vector<std::string>& cells) {
  std::string line;
  for (std::size_t i = 0; i < cells.size(); ++i) {
    if (i > 0) line += ',';
    const std::string& cell = cells[i];
    // A lone empty cell is quoted, or the row would read as an empty line.
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
    throw std::logic_error(path_.string() + ": a row of " + std::to_string(cells.size()) + " cells for " +
                           std::to_string(columns_) + " columns");
  out_ << csv_line(cells);
  if (!out_) flush();
}

void CsvWriter::flush() {
  if (!out_.flush())
    throw SystemError(path_.string() + ": cannot be written: " + std::strerror(errno) +
                      "; free space on that disk or choose another folder");
}

}  // namespace plumbline
