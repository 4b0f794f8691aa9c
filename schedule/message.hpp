// SPDX-License-Identifier: BSD-3-Clause
// The two ends of a message.
#pragma once

#include "schedule/action.hpp"
#include "schedule/direction.hpp"

namespace plumbline {

constexpr bool is_send(ActionType type) {
  return type == ActionType::send_forward || type == ActionType::send_backward;
}
/// Of a SEND or RECV.
constexpr Direction direction_of(ActionType type) {
  const bool forward = type == ActionType::send_forward || type == ActionType::receive_forward;
  return forward ? Direction::forward : Direction::backward;
}

/// The matching RECV or SEND; its stage may not exist.
constexpr Action partner(const Action& action) {
  switch (action.type) {
    case ActionType::send_forward:
      return {action.stage + 1, ActionType::receive_forward, action.microbatch};
    case ActionType::receive_forward:
      return {action.stage - 1, ActionType::send_forward, action.microbatch};
    case ActionType::send_backward:
      return {action.stage - 1, ActionType::receive_backward, action.microbatch};
    default:
      return {action.stage + 1, ActionType::send_backward, action.microbatch};
  }
}

}  // namespace plumbline
