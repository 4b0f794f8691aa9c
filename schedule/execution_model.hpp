// How a transport carries messages: what decides whether a list can deadlock.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

namespace plumbline {

/// Direction is that of the message (activation or gradient), not of who sends. "Posted": the rank goes on, the message
/// moves once it is first in the queue at both ends.
enum class ExecutionModel : std::uint8_t {
  blocking,        ///< each SEND and RECV ends before the next action starts
  pair,            ///< posted; one queue for each pair of ranks
  pair_direction,  ///< posted; one queue for each pair and direction
  stream,          ///< posted; one queue for each rank and direction, whatever the peer
  buffered,        ///< sends never wait
};

inline constexpr std::array<ExecutionModel, 5> execution_models = {ExecutionModel::blocking, ExecutionModel::pair,
                                                                   ExecutionModel::pair_direction,
                                                                   ExecutionModel::stream, ExecutionModel::buffered};

constexpr std::string_view name(ExecutionModel model) {
  constexpr std::array<std::string_view, 5> names = {"blocking", "pair", "pair-direction", "stream", "buffered"};
  return names.at(static_cast<std::size_t>(model));
}

constexpr std::optional<ExecutionModel> parse_execution_model(std::string_view text) {
  for (const ExecutionModel model : execution_models) {
    if (name(model) == text) return model;
  }
  return std::nullopt;
}

}  // namespace plumbline
