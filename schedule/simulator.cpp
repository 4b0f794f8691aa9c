// SPDX-License-Identifier: BSD-3-Clause
#include "schedule/simulator.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "schedule/bubble.hpp"
#include "support/error.hpp"

namespace plumbline {
namespace {

constexpr double not_yet = -1;

class Simulator {
 public:
  Simulator(const Schedule& schedule, const Durations& durations)
      : schedule_(schedule),
        placement_(schedule.placement),
        times_(durations.stages),
        edges_(durations.edges),
        overlap_(durations.overlap),
        activations_(pairs(), not_yet),
        gradients_(pairs(), not_yet),
        next_(schedule.ranks.size(), 0),
        free_at_(schedule.ranks.size(), 0.0) {
    if (edges_.empty()) edges_.push_back(0);
    if (edges_.size() == 1) edges_.resize(static_cast<std::size_t>(placement_.stages()), edges_.front());
    for (const ActionList& list : schedule.ranks) {
      actions_.emplace_back(list.size());
      for (const Action& action : list) lowered_ = lowered_ || is_communication(action.type);
    }
  }

  Simulation run() {
    if (!overlap_ && !lowered_ && placement_.ranks > 1) {
      throw InputError("schedule " + schedule_.name +
                       " has no SEND and RECV, which a simulation without overlap needs");
    }
    std::vector<std::int32_t> runnable;
    for (std::int32_t rank = placement_.ranks; rank-- > 0;) runnable.push_back(rank);
    while (!runnable.empty()) {
      const std::int32_t rank = runnable.back();
      runnable.pop_back();
      while (advance(rank, runnable)) {
      }
    }
    for (std::int32_t rank = 0; rank < placement_.ranks; ++rank) {
      const auto& list = schedule_.ranks[index(rank)];
      if (next_[index(rank)] < list.size()) {
        throw InputError(
            fmt::format("schedule {}: rank {}, position {}, {}: its input never arrives; check the schedule",
                        schedule_.name, rank, next_[index(rank)], to_text(list[next_[index(rank)]])));
      }
    }
    return summarize(schedule_, std::move(actions_));
  }

 private:
  static std::size_t index(std::int32_t value) { return static_cast<std::size_t>(value); }
  std::size_t pairs() const { return index(placement_.stages()) * index(schedule_.microbatches); }
  std::size_t pair(std::int32_t stage, std::int32_t microbatch) const {
    return index(stage) * index(schedule_.microbatches) + index(microbatch);
  }
  double edge(std::int32_t lower_stage) const {
    return placement_.rank_of(lower_stage) == placement_.rank_of(lower_stage + 1) ? 0 : edges_[index(lower_stage)];
  }

  const StageTimes& times_of(const Action& action) const {
    if (times_.size() == 1) return times_.front();
    const bool by_stage = times_.size() == index(placement_.stages());
    return times_[by_stage ? index(action.stage) : pair(action.stage, action.microbatch)];
  }

  double duration(const Action& action) const {
    const StageTimes& times = times_of(action);
    switch (action.type) {
      case ActionType::forward:
        return times.forward;
      case ActionType::backward:
        return times.full_backward();
      case ActionType::backward_input:
        return times.input;
      case ActionType::backward_weight:
        return times.weight;
      default:
        return 0;
    }
  }

  /// When the action's input has arrived; not_yet if its sender has not reached it; 0 if it needs none.
  double arrival(const Action& action) const {
    switch (action.type) {
      case ActionType::forward:
      case ActionType::receive_forward:
        return action.stage == 0 ? 0 : activations_[pair(action.stage, action.microbatch)];
      case ActionType::backward:
      case ActionType::backward_input:
      case ActionType::receive_backward:
        return action.stage + 1 == placement_.stages() ? 0 : gradients_[pair(action.stage, action.microbatch)];
      default:
        return 0;
    }
  }

  /// When the message of a RECV has arrived.
  double receive(const Action& action, double free_at) {
    const bool forward = action.type == ActionType::receive_forward;
    double& arrived = (forward ? activations_ : gradients_)[pair(action.stage, action.microbatch)];
    if (!overlap_) arrived = std::max(arrived, free_at + edge(forward ? action.stage - 1 : action.stage));
    return std::max(free_at, arrived);
  }

  void wake(std::int32_t rank, std::int32_t stage, std::vector<std::int32_t>& runnable) const {
    const std::int32_t peer = placement_.rank_of(stage);
    const auto& list = schedule_.ranks[index(peer)];
    if (peer == rank || next_[index(peer)] == list.size()) return;
    if (list[next_[index(peer)]].stage == stage) runnable.push_back(peer);
  }

  /// Stores the action's output with the time at which it is available.
  void hand_on(std::int32_t rank, const Action& action, double end, std::vector<std::int32_t>& runnable) {
    using enum ActionType;
    const bool gives_gradient = action.type == backward || action.type == backward_input;
    // In lowered lists a message leaves at its SEND; stages of one rank exchange none.
    const auto local = [&](std::int32_t to) { return placement_.rank_of(to) == rank; };
    if (action.stage + 1 < placement_.stages()) {
      const std::int32_t to = action.stage + 1;
      if (action.type == send_forward || (action.type == forward && (!lowered_ || local(to)))) {
        activations_[pair(to, action.microbatch)] = end + edge(action.stage);
        wake(rank, to, runnable);
      }
    }
    if (action.stage > 0) {
      const std::int32_t to = action.stage - 1;
      if (action.type == send_backward || (gives_gradient && (!lowered_ || local(to)))) {
        gradients_[pair(to, action.microbatch)] = end + edge(to);
        wake(rank, to, runnable);
      }
    }
  }

  bool advance(std::int32_t rank, std::vector<std::int32_t>& runnable) {
    const auto& list = schedule_.ranks[index(rank)];
    const std::size_t position = next_[index(rank)];
    if (position == list.size()) return false;
    const Action& action = list[position];
    const double arrived = arrival(action);
    if (arrived == not_yet) return false;
    double& free_at = free_at_[index(rank)];
    ActionTime& time = actions_[index(rank)][position];
    if (is_communication(action.type)) {  // posted: the rank continues
      const bool sends = action.type == ActionType::send_forward || action.type == ActionType::send_backward;
      const std::int32_t lower_stage = action.type == ActionType::send_forward ? action.stage : action.stage - 1;
      time.start = free_at;
      time.end = sends ? free_at + edge(lower_stage) : receive(action, free_at);
      hand_on(rank, action, free_at, runnable);
    } else {
      time.start = std::max(free_at, arrived);
      time.end = time.start + duration(action);
      free_at = time.end;
      hand_on(rank, action, time.end, runnable);
    }
    ++next_[index(rank)];
    return true;
  }

  const Schedule& schedule_;
  const Placement& placement_;
  const std::vector<StageTimes>& times_;
  std::vector<double> edges_;
  bool overlap_;
  std::vector<double> activations_;  ///< when a stage's input is available
  std::vector<double> gradients_;    ///< when the gradient of a stage's output is available
  std::vector<std::size_t> next_;
  std::vector<double> free_at_;
  bool lowered_ = false;
  std::vector<std::vector<ActionTime>> actions_;
};

void verify_durations(const Schedule& schedule, const Durations& durations) {
  const auto stages = static_cast<std::size_t>(schedule.placement.stages());
  const auto verify_count = [&](std::size_t count, std::size_t several, std::size_t most, const char* what) {
    if (count == 1 || count == several || count == most) return;
    throw InputError(fmt::format("{} {} for {} stages; give one, or {}{}", count, what, stages, several,
                                 most > several ? fmt::format(", or {}, one for each stage's microbatch", most) : ""));
  };
  verify_count(durations.stages.size(), stages, stages * static_cast<std::size_t>(schedule.microbatches),
               "rows of times");
  if (!durations.edges.empty()) verify_count(durations.edges.size(), stages - 1, stages - 1, "communication times");
  const auto verify = [](double value, const char* what) {
    if (!(value >= 0 && std::isfinite(value))) {
      throw InputError(fmt::format("{} {:f} is not a duration; give a number >= 0", what, value));
    }
  };
  for (const StageTimes& times : durations.stages) {
    verify(times.forward, "T_F");
    verify(times.input, "T_B");
    verify(times.weight, "T_W");
    verify(times.full_backward(), "T of a full backward");
  }
  for (const double edge : durations.edges) verify(edge, "T_comm");
}

}  // namespace

Simulation simulate(const Schedule& schedule, const Durations& durations) {
  verify_durations(schedule, durations);
  return Simulator(schedule, durations).run();
}

}  // namespace plumbline
