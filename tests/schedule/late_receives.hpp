// SPDX-License-Identifier: BSD-3-Clause
// A list that is complete and ordered, and safe or not depending only on whether messages are posted.
#pragma once

#include <algorithm>

#include "schedule/schedule.hpp"

namespace plumbline {

/// Each RECV moved to right before the action that uses it.
inline Schedule with_late_receives(Schedule lowered) {
  for (ActionList& list : lowered.ranks) {
    ActionList late;
    const auto came = [&](const Action& receive) { return std::find(list.begin(), list.end(), receive) != list.end(); };
    for (const Action& action : list) {
      using enum ActionType;
      if (action.type == receive_forward || action.type == receive_backward) continue;
      const Action receive{action.stage, action.type == forward ? receive_forward : receive_backward,
                           action.microbatch};
      if (is_compute(action.type) && action.type != backward_weight && came(receive)) late.push_back(receive);
      late.push_back(action);
    }
    list = late;
  }
  return lowered;
}

}  // namespace plumbline
