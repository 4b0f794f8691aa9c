// SPDX-License-Identifier: BSD-3-Clause
#include "harness/judge/expected/stage_map.hpp"

#include <algorithm>

namespace plumbline::judging {

StageMap stage_map(const Manifest& manifest) {
  StageMap map;
  map.stages = manifest.stages;
  bool begun = false;
  for (std::size_t i = 0; i + 1 < map.stages.size(); ++i) {
    begun = begun || !map.stages[i].units.empty();
    const auto next = std::find_if(map.stages.begin() + static_cast<std::ptrdiff_t>(i) + 1, map.stages.end(),
                                   [](const auto& stage) { return !stage.units.empty(); });
    if (!begun || next == map.stages.end()) continue;
    const auto &from = map.stages[i], &to = map.stages[i + 1];
    map.crossings.push_back({from.stage, to.stage, from.rank, to.rank, next->units.front()});
  }
  return map;
}

std::optional<std::int64_t> StageMap::stage_of(const std::string& unit) const {
  for (const auto& stage : stages) {
    if (std::ranges::find(stage.units, unit) != stage.units.end()) return stage.stage;
  }
  return std::nullopt;
}

const StageEntry* StageMap::find(std::int64_t stage) const {
  for (const auto& entry : stages) {
    if (entry.stage == stage) return &entry;
  }
  return nullptr;
}

std::vector<std::int64_t> StageMap::stages_on(std::int64_t rank) const {
  std::vector<std::int64_t> result;
  for (const auto& entry : stages) {
    if (entry.rank == rank) result.push_back(entry.stage);
  }
  return result;
}

bool is_layer(const std::string& unit) {
  return unit.starts_with("layers.");
}

}  // namespace plumbline::judging
