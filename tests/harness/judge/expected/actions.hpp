// SPDX-License-Identifier: BSD-3-Clause
// Lists of actions in short notation.
#pragma once

#include <string>
#include <vector>

#include "schedule/action.hpp"

namespace plumbline::testing {

/// A rank's list from the notation of schedule.csv: {"0F0", "0B0"}. Throws std::bad_optional_access for an invalid
/// action.
inline ActionList actions(const std::vector<std::string>& texts) {
  ActionList list;
  for (const auto& text : texts) list.push_back(parse_action(text).value());
  return list;
}

}  // namespace plumbline::testing
