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

/// The action that consumes the tensor of `receive`.
bool consumes(const Action& action, const Action& receive) {
  if (action.stage != receive.stage || action.microbatch != receive.microbatch) return false;
  if (receive.type == ActionType::receive_forward) return action.type == ActionType::forward;
  return action.type == ActionType::backward || action.type == ActionType::backward_input;
}

/// True if the neighbouring stage is on the same rank, so that a tensor passes without a message.
bool neighbour_on_rank(const StageMap& stages, std::int64_t stage, std::int64_t along) {
  const StageEntry *here = stages.find(stage), *neighbour = stages.find(stage + along);
  return here != nullptr && neighbour != nullptr && here->rank == neighbour->rank;
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

std::int64_t buffer_bound(const ActionList& lowered, const StageMap& stages, const std::vector<std::int64_t>& bytes,
                          std::int64_t tied_bytes) {
  std::int64_t live = 0, most = 0;
  for (std::size_t i = 0; i < lowered.size(); ++i) {
    const Action& action = lowered[i];
    const bool received = action.type == ActionType::receive_forward || action.type == ActionType::receive_backward;
    if (received) live += bytes_of(action, bytes);
    most = std::max(most, live + (action.type == ActionType::reduce ? tied_bytes : 0));
    if (!is_compute(action.type)) continue;
    for (std::size_t before = 0; before < i; ++before) {
      const bool receive =
          lowered[before].type == ActionType::receive_forward || lowered[before].type == ActionType::receive_backward;
      if (receive && consumes(action, lowered[before])) live -= bytes_of(lowered[before], bytes);
    }
    if (action.type == ActionType::backward_weight) continue;  // has no boundary tensors
    const std::int64_t along = action.type == ActionType::forward ? 1 : -1;
    if (neighbour_on_rank(stages, action.stage, -along)) live -= bytes_of(action, bytes);
    // Kept for the neighbour from here on, however late its SEND is.
    if (stages.find(action.stage + along) != nullptr) live += bytes_of(action, bytes);
    most = std::max(most, live);
  }
  return most;
}

}  // namespace plumbline::judging
