// SPDX-License-Identifier: BSD-3-Clause
// Schedules drawn from the times of their actions, simulated or measured: one row a rank, time to the right.
#pragma once

#include <string>
#include <vector>

#include "schedule/simulator.hpp"

namespace plumbline {

/// What is drawn: a schedule's actions with their times. Refers to both.
struct Timeline {
  std::string title;  ///< stands above the rows; empty for none
  const Schedule& schedule;
  const Simulation& simulation;
  /// For each action how long its rank stood waiting before it starts; empty when all idle time was that.
  std::vector<std::vector<double>> waits = {};
};

/// For a terminal: `columns` characters a row for the longest makespan, each action's microbatch where it fits.
/// `colour`: ANSI colours by kind instead of the kinds' letters. Several stand below each other on one time scale.
std::string draw_text(const std::vector<Timeline>& timelines, std::size_t columns, bool colour);

/// A self-contained SVG with a legend; every compute action has its text as a tooltip, waiting and messages under way
/// are thin bars (a measured message lasts until its sender has seen that it ended). Several stand below each other on
/// one time scale, each from its own first start. `width` in pixels for the longest makespan; 0: by the number of
/// actions.
std::string draw_svg(const std::vector<Timeline>& timelines, double width = 0);

}  // namespace plumbline
