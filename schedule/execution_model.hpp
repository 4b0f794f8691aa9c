// SPDX-License-Identifier: BSD-3-Clause
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

/// The model of one of our transports; nothing for a name that is none.
///
/// mpi and threads: a rank posts its messages and goes on; only a forward or backward action waits, for the receive
/// that it uses. Each (sender, receiver, direction) is a queue of its own, so that what rank 1 sends to rank 0 never
/// stands behind what rank 0 sends to rank 1: looser than `pair_direction`. The two ends of such a queue are in the
/// same order (Rule::channel_order), so its first message can move as soon as both ranks have come past it, and a rank
/// is held up by exactly one thing: that a sender has not got to its SEND. That is `buffered`. (Sends are waited for
/// only after STEP, which every rank reaches or none.)
///
/// nccl: posted too, but a pair of ranks has one stream for each direction, and what one of them sends on it stands
/// behind what it is to receive.
constexpr std::optional<ExecutionModel> model_of_transport(std::string_view transport) {
  if (transport == "mpi" || transport == "threads") return ExecutionModel::buffered;
  if (transport == "nccl") return ExecutionModel::pair_direction;
  return std::nullopt;
}

}  // namespace plumbline
