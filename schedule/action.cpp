// SPDX-License-Identifier: BSD-3-Clause
#include "schedule/action.hpp"

#include <fmt/format.h>

#include <array>
#include <charconv>

namespace plumbline {
namespace {

constexpr std::array<std::string_view, 10> names = {"F",      "B",      "I",      "W",      "SEND_F",
                                                    "RECV_F", "SEND_B", "RECV_B", "REDUCE", "STEP"};

/// Canonical digits only ("7", not "07" or "+7"), so that every action has exactly one text.
std::optional<std::int32_t> parse_index(std::string_view text) {
  if (text.empty() || (text.size() > 1 && text.front() == '0')) return std::nullopt;
  for (const char c : text) {
    if (c < '0' || c > '9') return std::nullopt;
  }
  std::int32_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

}  // namespace

bool is_compute(ActionType type) {
  return type == ActionType::forward || type == ActionType::backward || type == ActionType::backward_input ||
         type == ActionType::backward_weight;
}

bool is_communication(ActionType type) {
  return type == ActionType::send_forward || type == ActionType::receive_forward || type == ActionType::send_backward ||
         type == ActionType::receive_backward;
}

bool is_ending(ActionType type) {
  return type == ActionType::reduce || type == ActionType::step;
}

std::string_view name(ActionType type) {
  return names.at(static_cast<std::size_t>(type));
}

std::string to_text(const Action& action) {
  if (is_ending(action.type)) return fmt::format("{}{}", action.stage, name(action.type));
  return fmt::format("{}{}{}", action.stage, name(action.type), action.microbatch);
}

std::optional<Action> parse_action(std::string_view text) {
  const std::size_t type_begin = text.find_first_not_of("0123456789");
  if (type_begin == std::string_view::npos) return std::nullopt;
  std::size_t type_end = text.find_first_of("0123456789", type_begin);
  if (type_end == std::string_view::npos) type_end = text.size();

  const std::optional<std::int32_t> stage = parse_index(text.substr(0, type_begin));
  if (!stage) return std::nullopt;
  const std::string_view type_text = text.substr(type_begin, type_end - type_begin);
  const std::string_view microbatch_text = text.substr(type_end);
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (names[i] != type_text) continue;
    const auto type = static_cast<ActionType>(i);
    if (is_ending(type))
      return microbatch_text.empty() ? std::optional(Action{*stage, type, no_microbatch}) : std::nullopt;
    const std::optional<std::int32_t> microbatch = parse_index(microbatch_text);
    if (!microbatch) return std::nullopt;
    return Action{*stage, type, *microbatch};
  }
  return std::nullopt;
}

}  // namespace plumbline
