// SPDX-License-Identifier: BSD-3-Clause
#include "harness/judge/expected/expected_traffic.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "support/error.hpp"

namespace plumbline::judging {
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
    if (!peer) throw InputError(fmt::format("schedule.csv: {} has no stage at its other end", to_text(action)));
    Moved& moved = traffic[{peer->rank, message.direction, message.side}];
    ++moved.operations;
    moved.bytes += bytes_of(action, bytes);
  }
  return traffic;
}

}  // namespace plumbline::judging
