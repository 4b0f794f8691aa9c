// SPDX-License-Identifier: BSD-3-Clause
// Activation memory against the world size, with what the model of it predicts.
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

/// The largest peak of any drawn rank, measured or predicted, or of the reference.
std::int64_t largest_activation(const std::vector<MemoryPanel>& panels,
                                const std::optional<std::int64_t>& reference_peak);

/// One panel a schedule, four in a row, on one scale up to `largest`: a bar per rank for the measured activation peak,
/// a dash where the activation memory model puts it, and a dashed line at the reference's own peak. An SVG element.
std::string draw_activations(const std::vector<MemoryPanel>& panels, const std::optional<std::int64_t>& reference_peak,
                             std::int64_t largest, const std::string& title);

}  // namespace plumbline
