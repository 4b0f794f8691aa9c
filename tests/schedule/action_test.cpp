// SPDX-License-Identifier: BSD-3-Clause
#include "schedule/action.hpp"

#include <gtest/gtest.h>

namespace plumbline {
namespace {

TEST(Action, TextAndBack) {
  const std::vector<std::pair<std::string, Action>> cases = {
      {"2F0", {2, ActionType::forward, 0}},
      {"0B12", {0, ActionType::backward, 12}},
      {"1I3", {1, ActionType::backward_input, 3}},
      {"1W3", {1, ActionType::backward_weight, 3}},
      {"3SEND_F1", {3, ActionType::send_forward, 1}},
      {"3RECV_F1", {3, ActionType::receive_forward, 1}},
      {"3SEND_B1", {3, ActionType::send_backward, 1}},
      {"10RECV_B11", {10, ActionType::receive_backward, 11}},
      {"0REDUCE", {0, ActionType::reduce, no_microbatch}},
      {"4STEP", {4, ActionType::step, no_microbatch}},
  };
  for (const auto& [text, action] : cases) {
    EXPECT_EQ(to_text(action), text);
    EXPECT_EQ(parse_action(text), action) << text;
  }
}

TEST(Action, RefusesAnythingButOneAction) {
  for (const char* text :
       {"",       "F",      "F0",     "2F",     "2",    "2F0 ", " 2F0",         "2F0x",         "2f0",
        "2BW0",   "2FF0",   "-1F0",   "2F-1",   "02F0", "2F01", "2F2147483648", "2147483648F0", "0REDUCE1",
        "0STEP0", "REDUCE", "2SEND0", "2F0;3B1"}) {
    EXPECT_EQ(parse_action(text), std::nullopt) << '"' << text << '"';
  }
}

}  // namespace
}  // namespace plumbline
