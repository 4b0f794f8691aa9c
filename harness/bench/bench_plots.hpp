// The plots of a bench: efficiency and bubble against world size.
#pragma once

#include <string>

#include "record/bench_result.hpp"

namespace plumbline {

/// SVG, one series a schedule, with intervals; a line at 1, where P ranks are P times as fast. Of the cells of one
/// reference whose ranks each had a core: of others no efficiency can be told. Empty where there is none.
std::string draw_efficiency(const BenchResult& result, const BenchReference& reference);

/// SVG: for each cell from 2 ranks on the measured bubble with its interval beside the simulated one and the closed
/// form. Of the same cells. Empty where there is none.
std::string draw_bubbles(const BenchResult& result, const BenchReference& reference);

}  // namespace plumbline
