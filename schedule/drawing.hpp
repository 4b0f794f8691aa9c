// SPDX-License-Identifier: BSD-3-Clause
// Draws schedules from the times of their actions, simulated or measured: one row per rank, time to the right.
#pragma once

#include <string>
#include <vector>

#include "schedule/simulator.hpp"

namespace plumbline {

/// A schedule's actions with their times. Holds references to both.
struct Timeline {
  std::string title;  ///< printed above the rows; empty: none
  const Schedule& schedule;
  const Simulation& simulation;
  /// For each action, how long its rank waited before it started; empty: all idle time counts as waiting.
  std::vector<std::vector<double>> waits = {};
};

/// For a terminal: `columns` characters per row for the longest makespan, with each action's microbatch if it fits.
/// `color`: ANSI colors by action type instead of letters. Several timelines are drawn below each other on one time
/// scale.
std::string draw_text(const std::vector<Timeline>& timelines, std::size_t columns, bool color);

/// A self-contained SVG with a legend of what is drawn. Every compute action has its text as a tooltip; waits and
/// messages in progress are thin bars (a measured message lasts until its sender observed its end). Several timelines
/// are drawn below each other on one time scale, each from its own first start. `width` in pixels for the longest
/// makespan; 0: by the number of actions.
std::string draw_svg(const std::vector<Timeline>& timelines, double width = 0);

}  // namespace plumbline
