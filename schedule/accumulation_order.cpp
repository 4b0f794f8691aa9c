#include "schedule/accumulation_order.hpp"

#include <algorithm>

#include "support/csv.hpp"

namespace plumbline {

std::vector<std::vector<std::int32_t>> accumulation_orders(const Schedule& schedule) {
  std::vector<std::vector<std::int32_t>> orders(static_cast<std::size_t>(schedule.placement.stages()));
  for (const ActionList& list : schedule.ranks) {
    for (const Action& action : list) {
      if (action.type != ActionType::backward && action.type != ActionType::backward_weight) continue;
      orders.at(static_cast<std::size_t>(action.stage)).push_back(action.microbatch);
    }
  }
  return orders;
}

std::string accumulation_csv(const Schedule& schedule, const std::vector<std::vector<std::string>>& stage_units) {
  const auto orders = accumulation_orders(schedule);
  std::string text = csv_line({"unit", "microbatch"});
  bool ascending = true;
  for (std::size_t stage = 0; stage < stage_units.size(); ++stage) {
    const auto& order = orders.at(stage);
    if (!stage_units[stage].empty()) ascending = ascending && std::is_sorted(order.begin(), order.end());
    for (const std::string& unit : stage_units[stage]) {
      for (const std::int32_t microbatch : order) text += csv_line({unit, std::to_string(microbatch)});
    }
  }
  return ascending ? "" : text;
}

}  // namespace plumbline
