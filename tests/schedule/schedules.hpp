// SPDX-License-Identifier: BSD-3-Clause
// Helpers of the schedule tests: all small sizes, lists as text.
#pragma once

#include <gtest/gtest.h>

#include <numeric>
#include <optional>
#include <string>
#include <vector>

#include "schedule/schedule.hpp"
#include "support/error.hpp"

namespace plumbline {

/// Calls `check` for every generator in every size up to 8 ranks, 13 microbatches and 3 chunks that it supports, and a
/// few larger ones; returns the number of calls.
template <typename Check>
int for_each_generated(const Check& check) {
  int count = 0;
  for (const std::string& name : schedule_names()) {
    for (const std::int32_t ranks : {1, 2, 3, 4, 5, 6, 7, 8}) {
      for (const std::int32_t microbatches : {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 16, 24}) {
        for (std::int32_t chunks = 1; chunks <= 3; ++chunks) {
          std::optional<Schedule> schedule;
          try {
            schedule = make_schedule(name, ranks, microbatches, chunks);
          } catch (const InputError&) {
            continue;
          }
          SCOPED_TRACE(name + " p " + std::to_string(ranks) + " m " + std::to_string(microbatches) + " v " +
                       std::to_string(chunks));
          check(*schedule);
          ++count;
        }
      }
    }
  }
  return count;
}

inline std::string texts(const ActionList& list) {
  std::string all;
  for (const Action& action : list) all += (all.empty() ? "" : " ") + to_text(action);
  return all;
}

/// Parses a list, such as "0F0 0B0"; fails the test for a word that is not an action.
inline ActionList actions(const std::string& words) {
  ActionList list;
  std::size_t begin = 0;
  while (begin < words.size()) {
    const std::size_t end = std::min(words.find(' ', begin), words.size());
    const std::optional<Action> action = parse_action(words.substr(begin, end - begin));
    EXPECT_TRUE(action.has_value()) << words.substr(begin, end - begin);
    if (action) list.push_back(*action);
    begin = end + 1;
  }
  return list;
}

inline std::vector<std::int32_t> ascending(const Schedule& schedule) {
  std::vector<std::int32_t> all(static_cast<std::size_t>(schedule.microbatches));
  std::iota(all.begin(), all.end(), 0);
  return all;
}

}  // namespace plumbline
