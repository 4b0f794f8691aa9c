// SPDX-License-Identifier: BSD-3-Clause
#include "harness/judge/expected/partition.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "support/error.hpp"

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

namespace {

std::int64_t bytes_of(const Action& action, const std::vector<std::int64_t>& bytes) {
  const auto microbatch = static_cast<std::size_t>(action.microbatch);
  if (action.microbatch < 0 || microbatch >= bytes.size()) {
    throw InputError(
        fmt::format("schedule.csv: {} names a microbatch that microbatches.csv does not have", to_text(action)));
  }
  return bytes[microbatch];
}

struct Message {
  std::int64_t stage_step;  ///< peer's stage minus this one
  const char* direction;
  const char* side;
};

Message message_of(ActionType type) {
  switch (type) {
    case ActionType::send_forward:
      return {1, "forward", "send"};
    case ActionType::receive_forward:
      return {-1, "forward", "receive"};
    case ActionType::send_backward:
      return {-1, "backward", "send"};
    default:
      return {1, "backward", "receive"};
  }
}

}  // namespace

std::map<TrafficEdge, Moved> expected_traffic(const ActionList& lowered, const StageMap& stages,
                                              const std::vector<std::int64_t>& bytes) {
  std::map<TrafficEdge, Moved> traffic;
  for (const auto& action : lowered) {
    if (!is_communication(action.type)) continue;
    const Message message = message_of(action.type);
    const StageEntry* peer = stages.find(action.stage + message.stage_step);
    if (!peer)
      throw InputError(fmt::format("schedule.csv: the stage at the other end of {} does not exist", to_text(action)));
    Moved& moved = traffic[{peer->rank, message.direction, message.side}];
    ++moved.operations;
    moved.bytes += bytes_of(action, bytes);
  }
  return traffic;
}

}  // namespace plumbline::judging
