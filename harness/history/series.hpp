// A history as series: the same run of the same sweep over time, and what changed in it.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "harness/history/history_row.hpp"
#include "harness/history/level_changes.hpp"

namespace plumbline {

/// All rows of one run that was asked the same, on one machine, in the order of time. At least one.
struct RunSeries {
  std::vector<const HistoryRow*> rows;
  std::vector<const HistoryRow*> timed;    ///< those that tell a speed
  std::vector<LevelChange> speed_changes;  ///< their places are in `timed`

  const HistoryRow& last() const { return *rows.back(); }
};

enum class HistoryChangeKind { verdict, bits, bytes, speed };
std::string to_text(HistoryChangeKind kind);

/// Something that is not as it was, from one commit to the next that was looked at.
struct HistoryChange {
  HistoryChangeKind kind = HistoryChangeKind::verdict;
  std::string taken;                      ///< of the first row after it
  std::string commit_before, commit_now;  ///< of the last row before it, and of the first after it
  std::string machine_name, sweep;
  std::vector<std::string> runs;  ///< that changed alike
  std::string words;              ///< of the first of them
};

/// `rows` in the order of time; they must live longer. Ordered by machine, source, sweep and run.
std::vector<RunSeries> series_of(const std::vector<HistoryRow>& rows, const LevelChangeOptions& options = {});

/// Newest first. Runs of one sweep whose verdict, bits or bytes changed at the same time are told together.
std::vector<HistoryChange> changes_of(const std::vector<RunSeries>& series);

/// "-9.9 %".
std::string percent_text(double share);

}  // namespace plumbline
