// Rows of a history for tests.
#pragma once

#include <cstdio>
#include <string>
#include <vector>

#include "harness/history/history_row.hpp"

namespace plumbline::testing {

/// The row number `day` of a run of which nothing changes.
inline HistoryRow history_row_of(int day, double speed = 1.6) {
  HistoryRow row;
  char text[64];
  std::snprintf(text, sizeof text, "2026-%02d-%02dT10:00:00Z", 1 + day / 28, 1 + day % 28);
  row.taken = text;
  row.machine = "aaaaaaaaaaaa";
  row.machine_name = "Some Processor, 2 cores";
  row.code_path = "bbbbbbbbbbbb";
  std::snprintf(text, sizeof text, "c%05d", day);
  row.commit = text;
  row.source = "sweep";
  row.sweep = "quick";
  row.run = "quick-1f1b-w2";
  row.asked = "cccc";
  row.verdict = "holds";
  row.bits = "dddd";
  row.state_bytes = 3000;
  row.activation_bytes = 2000;
  row.sent_bytes = 1000;
  row.speed = SpeedRatio{speed, 0.99 * speed, 1.01 * speed, 5};
  return row;
}

/// A hair of noise, the same each time: neighbours are never equal.
inline double hair(int day) {
  return 1 + 0.001 * ((day * 7919) % 13 - 6);
}

/// `before` days at 1.6, then `after` at 1.44.
inline std::vector<HistoryRow> slower_after(int before, int after) {
  std::vector<HistoryRow> rows;
  for (int day = 0; day < before + after; ++day)
    rows.push_back(history_row_of(day, (day < before ? 1.6 : 1.44) * hair(day)));
  return rows;
}

}  // namespace plumbline::testing
