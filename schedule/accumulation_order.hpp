// In which order each stage sums its microbatches' gradients, and the file that tells a reference so.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "schedule/schedule.hpp"

namespace plumbline {

/// For each stage the microbatches in the order of its weight gradients (B or W).
std::vector<std::vector<std::int32_t>> accumulation_orders(const Schedule& schedule);

/// A CSV with the columns unit, microbatch: for each unit, in the order of `stage_units`, its microbatches in the order
/// in which its stage sums them. Empty when every unit's order is ascending, which needs no telling. `stage_units`: one
/// entry a stage, empty for a stage that holds nothing. Equal orders give equal bytes.
std::string accumulation_csv(const Schedule& schedule, const std::vector<std::vector<std::string>>& stage_units);

}  // namespace plumbline
