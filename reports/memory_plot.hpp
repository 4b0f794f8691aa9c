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

/// One panel a schedule, side by side on one scale: a bar per rank for the measured activation peak, a dash where the
/// law puts it, and a dashed line at the reference's own peak.
std::string activation_plot_script(const std::vector<MemoryPanel>& panels,
                                   const std::optional<std::int64_t>& reference_peak);

/// Stacked bars per rank: parameters, gradients, optimiser state; the reference stands first.
std::string state_plot_script(const std::vector<MemoryGroup>& groups, const RankMemory& reference);

}  // namespace plumbline
