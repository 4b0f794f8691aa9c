// Memory against the world size: activations with what the law predicts, and model state.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "reports/evidence.hpp"

namespace plumbline {

/// The ranks of one run at one world size.
struct MemoryGroup {
  std::int64_t world = 0;
  std::vector<RankMemory> ranks;
};

struct MemoryPanel {
  std::string title;  ///< the schedule
  std::vector<MemoryGroup> groups;
};

/// One panel a schedule, two in a row, on one scale: a bar per rank for the measured activation peak, a dash where the
/// law puts it, and a dashed line at the reference's own peak. An SVG element.
std::string draw_activations(const std::vector<MemoryPanel>& panels, const std::optional<std::int64_t>& reference_peak,
                             const std::string& title);

/// Stacked bars per rank: parameters, gradients, optimiser state; the reference stands first. An SVG element.
std::string draw_state(const std::vector<MemoryGroup>& groups, const RankMemory& reference, const std::string& title);

}  // namespace plumbline
