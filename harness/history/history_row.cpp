#include "harness/history/history_row.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "support/error.hpp"
#include "support/numbers.hpp"

namespace plumbline {
namespace {

/// A row's cells by the names of their columns, each error with file, line and column.
class RowCells {
 public:
  RowCells(const std::filesystem::path& file, const CsvRow& row) : file_(file), row_(row) {}

  const std::string& text(const std::string& column) const {
    const auto& columns = history_columns();
    return row_.cells[static_cast<std::size_t>(std::ranges::find(columns, column) - columns.begin())];
  }
  const std::string& given(const std::string& column) const {
    if (text(column).empty()) fail(column, "is empty");
    return text(column);
  }
  const std::string& word(const std::string& column, const std::vector<std::string>& known) const {
    const std::string& value = text(column);
    if (std::ranges::find(known, value) == known.end()) fail(column, "\"" + value + "\" is none of its words");
    return value;
  }
  std::optional<std::int64_t> count(const std::string& column) const {
    if (text(column).empty()) return std::nullopt;
    const auto number = parse_integer(text(column));
    if (!number || *number < 0) fail(column, "\"" + text(column) + "\" is no whole number from 0 on");
    return number;
  }
  std::optional<double> above_zero(const std::string& column) const {
    if (text(column).empty()) return std::nullopt;
    const auto number = parse_double(text(column));
    if (!number || !std::isfinite(*number) || *number <= 0)
      fail(column, "\"" + text(column) + "\" is no number above 0");
    return number;
  }
  [[noreturn]] void fail(const std::string& column, const std::string& what) const {
    throw InputError(file_.string() + ":" + std::to_string(row_.line) + ", column " + column + ": " + what +
                     ". Remove the line, or take the file as it was before it");
  }

 private:
  const std::filesystem::path& file_;
  const CsvRow& row_;
};

/// "2026-11-22T10:27:24Z": such texts are in the order of time.
bool is_time(const std::string& text) {
  const std::string form = "dddd-dd-ddTdd:dd:ddZ";
  if (text.size() != form.size()) return false;
  for (std::size_t i = 0; i < form.size(); ++i) {
    const bool digit = text[i] >= '0' && text[i] <= '9';
    if (form[i] == 'd' ? !digit : text[i] != form[i]) return false;
  }
  return true;
}

std::string cell(const std::optional<std::int64_t>& number) {
  return number ? std::to_string(*number) : "";
}

std::string cell(const std::optional<double>& number) {
  return number ? to_text(*number) : "";
}

std::optional<SpeedRatio> speed_of(const RowCells& cells) {
  const auto value = cells.above_zero("speed");
  if (!value) return std::nullopt;
  SpeedRatio speed{*value, cells.above_zero("speed_low"), cells.above_zero("speed_high"),
                   cells.count("rounds").value_or(1)};
  if (speed.low.has_value() != speed.high.has_value() || (speed.low && *speed.low > *speed.high))
    cells.fail("speed_low", "is no interval with speed_high");
  return speed;
}

}  // namespace

const std::vector<std::string>& history_columns() {
  static const std::vector<std::string> columns = {
      "schema",     "taken", "machine",   "machine_name", "code_path", "commit",      "source",
      "sweep",      "run",   "asked",     "verdict",      "bits",      "state_bytes", "activation_bytes",
      "sent_bytes", "speed", "speed_low", "speed_high",   "rounds"};
  return columns;
}

std::vector<std::string> to_cells(const HistoryRow& row) {
  const auto& speed = row.speed;
  return {history_schema,
          row.taken,
          row.machine,
          row.machine_name,
          row.code_path,
          row.commit,
          row.source,
          row.sweep,
          row.run,
          row.asked,
          row.verdict,
          row.bits,
          cell(row.state_bytes),
          cell(row.activation_bytes),
          cell(row.sent_bytes),
          speed ? to_text(speed->value) : "",
          speed ? cell(speed->low) : "",
          speed ? cell(speed->high) : "",
          speed ? std::to_string(speed->rounds) : ""};
}

HistoryRow history_row(const std::filesystem::path& file, const CsvRow& row) {
  const RowCells cells(file, row);
  if (cells.text("schema") != history_schema)
    throw InputError(file.string() + ":" + std::to_string(row.line) + ", column schema: \"" + cells.text("schema") +
                     "\"; this program reads " + history_schema);
  HistoryRow read;
  read.taken = cells.text("taken");
  if (!is_time(read.taken)) cells.fail("taken", "\"" + read.taken + "\" is no time such as 2026-11-22T10:27:24Z");
  read.machine = cells.given("machine");
  read.machine_name = cells.text("machine_name");
  read.code_path = cells.given("code_path");
  read.commit = cells.text("commit");
  read.source = cells.word("source", {"sweep", "bench"});
  read.sweep = cells.given("sweep");
  read.run = cells.given("run");
  read.asked = cells.text("asked");
  read.verdict = cells.word("verdict", {"holds", "does not hold", "finished", "not finished"});
  read.bits = cells.text("bits");
  read.state_bytes = cells.count("state_bytes");
  read.activation_bytes = cells.count("activation_bytes");
  read.sent_bytes = cells.count("sent_bytes");
  read.speed = speed_of(cells);
  return read;
}

}  // namespace plumbline
