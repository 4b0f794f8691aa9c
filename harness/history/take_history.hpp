// The rows of a finished sweep or bench.
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

/// Reads verdict.json and the records beside it, or bench.json where that stands alone. A sweep that does not hold has
/// its place in a history too; of a bench on a machine that was not quiet the speeds stay empty. Throws InputError
/// where neither lies there, or it names no time.
TakenHistory take_history(const std::filesystem::path& sweep);

}  // namespace plumbline
