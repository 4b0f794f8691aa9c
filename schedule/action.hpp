// SPDX-License-Identifier: BSD-3-Clause
// One action of a rank's list, and its text form: `[stage][type][microbatch]`, "2F0", "3SEND_F1", "0REDUCE".
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace plumbline {

enum class ActionType : std::uint8_t {
  forward,           // F
  backward,          // B, input and weight gradient
  backward_input,    // I
  backward_weight,   // W
  send_forward,      // SEND_F: an activation to the next stage
  receive_forward,   // RECV_F
  send_backward,     // SEND_B: a gradient to the previous stage
  receive_backward,  // RECV_B
  reduce,            // REDUCE: tied gradients
  step,              // STEP: the optimizer
};

inline constexpr std::int32_t no_microbatch = -1;

struct Action {
  std::int32_t stage = 0;
  ActionType type = ActionType::forward;
  std::int32_t microbatch = no_microbatch;  ///< no_microbatch for REDUCE and STEP

  friend bool operator==(const Action&, const Action&) = default;
};

bool is_compute(ActionType type);  ///< F, B, I, W
bool is_communication(ActionType type);
bool is_ending(ActionType type);         ///< REDUCE, STEP
std::string_view name(ActionType type);  ///< "F", "SEND_F", ...
std::string to_text(const Action& action);
/// Null unless `text` is exactly one action.
std::optional<Action> parse_action(std::string_view text);

using ActionList = std::vector<Action>;

}  // namespace plumbline
