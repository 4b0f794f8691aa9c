// Activation slots against the number of microbatches: what a schedule asks of memory, by its own lists.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace plumbline {

/// Of one schedule at one world size, by `make_schedule` and the simulator.
struct SlotCurve {
  std::string schedule;
  std::int32_t world = 1;
  std::vector<std::pair<std::int32_t, double>> slots;  ///< microbatches, and the largest number of open forwards of a
                                                       ///< rank over its number of stages, ascending
};

/// For 1 to `most` microbatches; those that the schedule cannot have are left out. Empty for a schedule that is not one
/// of schedule_names().
SlotCurve slot_curve(const std::string& schedule, std::int32_t world, std::int32_t most);

/// One line a schedule; `microbatches`: what the runs had, marked; 0 for none. An SVG element.
std::string draw_slots(const std::vector<SlotCurve>& curves, std::int32_t microbatches, const std::string& title);

}  // namespace plumbline
