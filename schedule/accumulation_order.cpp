// SPDX-License-Identifier: BSD-3-Clause
#include "schedule/accumulation_order.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "support/csv.hpp"

namespace plumbline {
namespace {

class OrderFile {
 public:
  explicit OrderFile(std::int32_t replicas)
      : replicas_(replicas),
        text_(replicas == 1 ? csv_line({"unit", "microbatch"}) : csv_line({"unit", "microbatch", "group"})) {}

  void add(const std::string& unit, const std::vector<std::int32_t>& order) {
    ascending_ = ascending_ && std::is_sorted(order.begin(), order.end());
    const auto each = static_cast<std::int32_t>(order.size());
    for (std::int32_t replica = 0; replica < replicas_; ++replica) {
      for (const std::int32_t microbatch : order) {
        std::vector<std::string> row{unit, std::to_string(replica * each + microbatch)};
        if (replicas_ > 1) row.push_back(std::to_string(replica));
        text_ += csv_line(row);
      }
    }
  }
  std::string text() const { return ascending_ && replicas_ == 1 ? "" : text_; }

 private:
  std::int32_t replicas_;
  std::string text_;
  bool ascending_ = true;
};

}  // namespace

std::vector<StageAccumulation> accumulation_orders(const Schedule& schedule) {
  std::vector<StageAccumulation> orders(static_cast<std::size_t>(schedule.placement.stages()));
  for (const ActionList& list : schedule.ranks) {
    for (const Action& action : list) {
      const bool both = action.type == ActionType::backward;
      if (both || action.type == ActionType::backward_input) {
        orders.at(static_cast<std::size_t>(action.stage)).input.push_back(action.microbatch);
      }
      if (both || action.type == ActionType::backward_weight) {
        orders.at(static_cast<std::size_t>(action.stage)).weight.push_back(action.microbatch);
      }
    }
  }
  return orders;
}

std::string accumulation_csv(const Schedule& schedule, const std::vector<std::vector<std::string>>& stage_units,
                             std::int32_t replicas) {
  const auto orders = accumulation_orders(schedule);
  OrderFile file(replicas);
  for (std::size_t stage = 0; stage < stage_units.size(); ++stage) {
    const StageAccumulation& order = orders.at(stage);
    for (const std::string& unit : stage_units[stage]) {
      file.add(unit, unit == "embed_tokens" || unit == "norm" ? order.input : order.weight);
      if (!unit.starts_with("layers.") || order.input == order.weight) continue;
      file.add(fmt::format("model.{}.input_layernorm.weight", unit), order.input);
      file.add(fmt::format("model.{}.post_attention_layernorm.weight", unit), order.input);
    }
  }
  return file.text();
}

}  // namespace plumbline
