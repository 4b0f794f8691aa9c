// The rows of a finished sweep.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "harness/history/history_row.hpp"

namespace plumbline {

struct TakenHistory {
  std::vector<HistoryRow> rows;      ///< one a reference and one a cell
  std::vector<std::string> missing;  ///< what of them could not be read, and why: those numbers stay empty
};

/// Reads verdict.json and the records beside it. A sweep that does not hold has its place in a history too. Throws
/// InputError where no sweep lies there, or it names no time.
TakenHistory take_history(const std::filesystem::path& sweep);

}  // namespace plumbline
