// SPDX-License-Identifier: BSD-3-Clause
// How a transport delivers messages, which decides whether a list can deadlock.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

namespace plumbline {

/// "Direction" is the message's (activation or gradient). "Posted": the rank continues, and the message moves once it
/// is first in its queue at both ends.
enum class ExecutionModel : std::uint8_t {
  blocking,        ///< each SEND and RECV completes before the next action starts
  pair,            ///< posted; one queue per pair of ranks
  pair_direction,  ///< posted; one queue per pair and direction
  stream,          ///< posted; one queue per rank and direction, for all peers
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

/// The model of one of Plumbline's transports; null for an unknown name.
///
/// mpi and threads: a rank posts its messages and continues; only a compute action waits, for its receive. Each
/// (sender, receiver, direction) has its own queue, so a message from rank 1 to rank 0 is never queued after one from
/// rank 0 to rank 1: less strict than `pair_direction`. Both ends of a queue have the same order (Rule::channel_order),
/// so its first message can move as soon as both ranks have passed it, and a rank blocks only if a sender has not
/// reached its SEND. That is `buffered`. (A rank waits for its sends only after STEP, which either all ranks or none
/// reach.)
///
/// nccl: posted too, but a pair of ranks has one stream per direction, and a rank's sends on it are queued after its
/// earlier receives.
constexpr std::optional<ExecutionModel> model_of_transport(std::string_view transport) {
  if (transport == "mpi" || transport == "threads") return ExecutionModel::buffered;
  if (transport == "nccl") return ExecutionModel::pair_direction;
  return std::nullopt;
}

}  // namespace plumbline
