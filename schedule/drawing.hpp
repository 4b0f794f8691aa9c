// A schedule drawn from its simulated times: one row a rank, time to the right.
#pragma once

#include <string>

#include "schedule/simulator.hpp"

namespace plumbline {

/// For a terminal: `columns` characters a row for the makespan, each action's microbatch where it fits. `colour`: ANSI
/// colours by kind instead of the kinds' letters.
std::string draw_text(const Schedule& schedule, const Simulation& simulation, std::size_t columns, bool colour);

/// A self-contained SVG with a legend; every action has its text as a tooltip.
std::string draw_svg(const Schedule& schedule, const Simulation& simulation);

}  // namespace plumbline
