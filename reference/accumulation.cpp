// SPDX-License-Identifier: BSD-3-Clause
#include "reference/accumulation.hpp"

#include <ATen/Tensor.h>

#include <algorithm>
#include <set>
#include <span>

#include "model/parameter_shapes.hpp"
#include "model/unit.hpp"
#include "support/csv.hpp"
#include "support/error.hpp"
#include "support/numbers.hpp"
#include "support/text.hpp"
#include "training/memory_meter.hpp"

namespace plumbline {

AccumulationOrder read_accumulation_order(const std::filesystem::path& path, const LlamaConfig& config,
                                          std::int64_t microbatches) {
  const std::vector<std::string> units = unit_names(config);
  std::set<std::string> known(units.begin(), units.end());
  for (const ParameterShape& parameter : parameter_shapes(config)) known.insert(parameter.name);
  const CsvTable table = read_csv(path, {"unit", "microbatch"}, most_by_program);
  const std::size_t unit_column = table.column("unit");
  const std::size_t microbatch_column = table.column("microbatch");
  const bool grouped = table.has("group");
  const std::size_t group_column = grouped ? table.column("group") : 0;
  AccumulationOrder order;
  std::set<std::pair<std::string, std::int64_t>> seen;
  for (const CsvRow& row : table.rows) {
    const std::string where = path.string() + ":" + std::to_string(row.line) + ": ";
    const std::string& unit = row.cells[unit_column];
    if (!known.contains(unit)) {
      throw InputError(where + "the model has no unit or parameter \"" + unit + "\"; its units are " +
                       join(units, ", "));
    }
    const auto microbatch = parse_integer(row.cells[microbatch_column]);
    if (!microbatch || *microbatch < 0 || *microbatch >= microbatches) {
      throw InputError(where + "microbatch \"" + row.cells[microbatch_column] + "\" is not one of 0.." +
                       std::to_string(microbatches - 1));
    }
    if (!seen.emplace(unit, *microbatch).second) {
      throw InputError(where + "unit " + unit + " lists microbatch " + std::to_string(*microbatch) +
                       " twice; each must occur once");
    }
    auto& groups = order[unit];
    const auto group = grouped ? parse_integer(row.cells[group_column]) : 0;
    if (!group || *group < std::max<std::int64_t>(std::ssize(groups) - 1, 0) || *group > std::ssize(groups)) {
      throw InputError(
          where + "group \"" + row.cells[group_column] + "\" of unit " + unit +
          " is out of order; groups count from 0, and each row has the group of the row before or the next one");
    }
    if (*group == std::ssize(groups)) groups.emplace_back();
    groups.back().push_back(*microbatch);
  }
  for (const std::string& unit : units) order[unit];  // every unit must occur; single parameters are optional
  for (const auto& [unit, groups] : order) {
    std::int64_t listed = 0;
    for (const auto& group : groups) listed += std::ssize(group);
    if (listed != microbatches) {
      throw InputError(path.string() + ": " + unit + " lists " + std::to_string(listed) + " microbatches of " +
                       std::to_string(microbatches) + "; give each unit every microbatch once");
    }
  }
  return order;
}

void ListedAccumulation::take(std::int64_t microbatch, const TrainState& state) {
  const MemoryScope scope(MemoryOwner::gradients);
  std::vector<at::Tensor> gradients;
  gradients.reserve(state.parameters.size());
  for (const TrainedParameter& parameter : state.parameters) gradients.push_back(parameter.gradient().clone());
  kept_[microbatch] = std::move(gradients);
  zero_gradients(state);
}

void ListedAccumulation::add_all(const TrainState& state) {
  for (std::size_t index = 0; index < state.parameters.size(); ++index) {
    at::Tensor sum = state.parameters[index].gradient();
    const auto own = order_.find(state.parameters[index].name);
    const auto& groups = own != order_.end() ? own->second : order_.at(state.parameters[index].unit);
    for (const auto& group : groups) {
      // The first group's sum is the parameter's; another's begins in its first gradient, plus zero, as if at zero.
      at::Tensor into = &group == &groups.front() ? sum : kept_.at(group.front())[index].add_(0);
      for (const std::int64_t microbatch : std::span(group).subspan(&group == &groups.front() ? 0 : 1)) {
        into.add_(kept_.at(microbatch)[index]);
      }
      if (&group != &groups.front()) sum.add_(into);
    }
  }
  kept_.clear();
}

}  // namespace plumbline
