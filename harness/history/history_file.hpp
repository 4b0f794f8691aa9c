// The CSV that a history is kept in: rows are only ever added (docs/history.md).
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "harness/history/history_row.hpp"

namespace plumbline {

struct History {
  std::vector<HistoryRow> rows;    ///< in the order of time, each once
  std::int64_t duplicates = 0;     ///< rows that were there a second time, as when a file is merged with itself
  std::vector<std::string> notes;  ///< what of the file is odd, for people
};

/// A file that is not there is an empty history. Throws InputError naming file and line: no such columns, a line that
/// is cut off or has another width, another schema, a value that is none, two rows of the same run that differ.
History read_history(const std::filesystem::path& file);

/// Adds those rows that are not there yet and returns how many these were. The file is written beside and renamed, so
/// that nobody ever sees half a row. Throws as read_history does, and InputError where a row contradicts one that is
/// there.
std::int64_t append_history(const std::filesystem::path& file, const std::vector<HistoryRow>& rows);

}  // namespace plumbline
