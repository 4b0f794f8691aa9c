#include "harness/history/history_file.hpp"

#include <algorithm>
#include <map>

#include "support/csv_stream.hpp"
#include "support/error.hpp"
#include "support/files.hpp"
#include "support/paths.hpp"

namespace plumbline {
namespace {

struct KeptRow {
  std::vector<std::string> cells;
  std::size_t line = 0;
};

/// The rows of a file by what tells their runs apart.
class KnownRuns {
 public:
  explicit KnownRuns(const std::filesystem::path& file) : file_(file) {}

  /// Whether it is new. Throws where another row tells something else of the same run.
  bool take(const HistoryRow& row, std::size_t line) {
    const auto cells = to_cells(row);
    const auto [found, is_new] =
        rows_.try_emplace({row.taken, row.machine, row.source, row.sweep, row.run}, KeptRow{cells, line});
    if (is_new) return true;
    const auto& kept = found->second;
    if (kept.cells == cells) return false;
    std::string differing;
    for (std::size_t i = 0; i < cells.size(); ++i)
      if (cells[i] != kept.cells[i]) differing += (differing.empty() ? "" : ", ") + history_columns()[i];
    throw InputError(file_.string() + ": " + place(line) + " and " + place(kept.line) + " tell of the same run, " +
                     row.run + " of " + row.taken + ", and differ in " + differing + "; remove the wrong one");
  }

 private:
  static std::string place(std::size_t line) {
    return line == 0 ? "what is to be added" : "line " + std::to_string(line);
  }

  const std::filesystem::path& file_;
  std::map<std::vector<std::string>, KeptRow> rows_;
};

void refuse_other_columns(const CsvStream& csv) {
  if (csv.header() == history_columns()) return;
  throw InputError(csv.path().string() + ":1: its columns are not those of a history (schema " + history_schema +
                   ", docs/history.md); is it another file, or one of another version?");
}

}  // namespace

History read_history(const std::filesystem::path& file) {
  History history;
  if (!path_exists(file)) return history;
  CsvStream csv(file);
  refuse_other_columns(csv);
  KnownRuns known(file);
  std::map<std::string, std::string> last;  // by machine
  std::int64_t backwards = 0;
  std::size_t first_backwards = 0;
  CsvRow cells;
  while (csv.next(cells)) {
    HistoryRow row = history_row(file, cells);
    if (!known.take(row, cells.line)) {
      ++history.duplicates;
      continue;
    }
    std::string& before = last[row.machine];
    if (row.taken < before && ++backwards == 1) first_backwards = cells.line;
    before = row.taken;
    history.rows.push_back(std::move(row));
  }
  std::ranges::stable_sort(history.rows, {}, &HistoryRow::taken);
  if (history.duplicates > 0)
    history.notes.push_back(std::to_string(history.duplicates) +
                            " rows stand in the file a second time and count once: it was merged with itself");
  if (backwards > 0)
    history.notes.push_back("from line " + std::to_string(first_backwards) + " on, in " + std::to_string(backwards) +
                            " places, a row is older than the one before it of the same machine: files were merged, or "
                            "the clock ran backwards; points stand in the order of time");
  return history;
}

std::int64_t append_history(const std::filesystem::path& file, const std::vector<HistoryRow>& rows) {
  std::string before = path_exists(file) ? read_file(file) : csv_line(history_columns());
  KnownRuns known(file);
  if (path_exists(file)) {
    CsvStream csv(file);
    refuse_other_columns(csv);
    CsvRow cells;
    while (csv.next(cells)) known.take(history_row(file, cells), cells.line);
  }
  std::string added;
  std::int64_t count = 0;
  for (const HistoryRow& row : rows) {
    if (!known.take(row, 0)) continue;
    added += csv_line(to_cells(row));
    ++count;
  }
  if (count == 0) return 0;
  if (file.has_parent_path()) make_folder(file.parent_path());
  const std::string_view pieces[] = {before, added};
  write_file_pieces(file, pieces);
  return count;
}

}  // namespace plumbline
