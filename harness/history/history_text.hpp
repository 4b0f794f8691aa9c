// A history for people, as text.
#pragma once

#include <string>
#include <vector>

#include "harness/history/history_file.hpp"
#include "harness/history/series.hpp"

namespace plumbline {

/// What changed, newest first; then one line a series of the runs chosen: how many points, the last speed, the last
/// verdict. `run`: only runs whose id holds this text; with `points` each of their points in a line.
std::string history_text(const History& history, const std::string& run = "", bool points = false);

}  // namespace plumbline
