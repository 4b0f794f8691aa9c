// SPDX-License-Identifier: BSD-3-Clause
#include "schedule/lowering.hpp"

#include <fmt/format.h>

#include <string>
#include <utility>

#include "schedule/microbatch_set.hpp"
#include "schedule/schedule.hpp"
#include "schedule/verifier.hpp"
#include "support/error.hpp"

namespace plumbline {
namespace {

/// Takes one compute action of each rank in turn. A SEND and its RECV are appended to the two lists at the same time,
/// so all lists are consistent with one total order of the messages, and even blocking calls cannot deadlock.
class Lowering {
 public:
  explicit Lowering(const Schedule& source)
      : source_(source),
        placement_(source.placement),
        activations_(placement_.stages(), source.microbatches),
        gradients_(placement_.stages(), source.microbatches),
        next_(source.ranks.size(), 0) {
    lowered_ = source;
    for (ActionList& list : lowered_.ranks) list.clear();
  }

  /// False if the lists wait for each other.
  bool run() {
    bool moved = true;
    while (moved) {
      moved = false;
      for (std::int32_t rank = 0; rank < placement_.ranks; ++rank) moved = advance(rank) || moved;
    }
    for (std::int32_t rank = 0; rank < placement_.ranks; ++rank) {
      if (stops(rank)) return false;
    }
    return true;
  }
  Schedule take() { return std::move(lowered_); }

  /// Call after `run` returned false.
  ListFinding stuck() const {
    std::int32_t rank = 0;
    while (!stops(rank)) ++rank;
    const auto r = static_cast<std::size_t>(rank);
    const Action& action = source_.ranks[r][next_[r]];
    const bool forward = action.type == ActionType::forward;
    const auto [needed, peer] = waits_for(rank);
    return {
        Rule::deadlock, rank, next_[r], action,
        fmt::format("it needs the {0} of {1} on rank {2}, and that rank never gets there: the lists wait for each "
                    "other in a cycle: {3}; move {1} earlier on rank {2} or {4} later on rank {5}",
                    forward ? "activation" : "gradient", to_text(needed), peer, circle(rank), to_text(action), rank)};
  }

 private:
  ActionList& list(std::int32_t rank) { return lowered_.ranks[static_cast<std::size_t>(rank)]; }

  bool has_input(const Action& action) const {
    switch (action.type) {
      case ActionType::forward:
        return action.stage == 0 || activations_.has(action.stage, action.microbatch);
      case ActionType::backward:
      case ActionType::backward_input:
        return action.stage == placement_.stages() - 1 || gradients_.has(action.stage, action.microbatch);
      default:
        return true;  // W depends only on earlier actions of its rank, which verify_complete checked
    }
  }

  bool advance(std::int32_t rank) {
    const auto r = static_cast<std::size_t>(rank);
    if (next_[r] == source_.ranks[r].size()) return false;
    const Action action = source_.ranks[r][next_[r]];
    if (!has_input(action)) return false;
    ++next_[r];
    list(rank).push_back(action);
    if (action.type == ActionType::forward && action.stage + 1 < placement_.stages()) {
      send_output(rank, action, action.stage + 1, ActionType::send_forward, ActionType::receive_forward, activations_);
    }
    const bool gives_gradient = action.type == ActionType::backward || action.type == ActionType::backward_input;
    if (gives_gradient && action.stage > 0) {
      send_output(rank, action, action.stage - 1, ActionType::send_backward, ActionType::receive_backward, gradients_);
    }
    return true;
  }

  void send_output(std::int32_t rank, const Action& action, std::int32_t to_stage, ActionType send, ActionType receive,
                   MicrobatchSet& arrived) {
    const std::int32_t peer = placement_.rank_of(to_stage);
    if (peer != rank) {
      list(rank).push_back({action.stage, send, action.microbatch});
      list(peer).push_back({to_stage, receive, action.microbatch});
    }
    arrived.add(to_stage, action.microbatch);
  }

  bool stops(std::int32_t rank) const {
    const auto r = static_cast<std::size_t>(rank);
    return next_[r] < source_.ranks[r].size();
  }

  /// "0B0 (rank 0, position 1) needs 1B0, before which rank 1 must get past 1F1 (rank 1, position 1), which needs ..."
  std::string circle(std::int32_t rank) const {
    std::vector<bool> seen(next_.size(), false);
    while (!seen[static_cast<std::size_t>(rank)]) {  // follow to the cycle: the first rank need not be on it
      seen[static_cast<std::size_t>(rank)] = true;
      rank = waits_for(rank).second;
    }
    std::string text = place(rank);
    std::int32_t at = rank;
    do {
      const auto [needed, peer] = waits_for(at);
      text += fmt::format(" needs {}, before which rank {} must get past {}", to_text(needed), peer, place(peer));
      at = peer;
      if (at != rank) text += ", which";
    } while (at != rank);
    return text;
  }

  std::string place(std::int32_t rank) const {
    const auto r = static_cast<std::size_t>(rank);
    return fmt::format("{} (rank {}, position {})", to_text(source_.ranks[r][next_[r]]), rank, next_[r]);
  }

  /// What a blocked rank waits for, and the rank that provides it.
  std::pair<Action, std::int32_t> waits_for(std::int32_t rank) const {
    const auto r = static_cast<std::size_t>(rank);
    const Action& action = source_.ranks[r][next_[r]];
    const bool forward = action.type == ActionType::forward;
    const Action needed{forward ? action.stage - 1 : action.stage + 1, action.type, action.microbatch};
    return {needed, placement_.rank_of(needed.stage)};
  }

  const Schedule& source_;
  Placement placement_;
  MicrobatchSet activations_;  ///< the stage's input is available
  MicrobatchSet gradients_;    ///< the gradient of the stage's output is available
  std::vector<std::size_t> next_;
  Schedule lowered_;
};

}  // namespace

std::vector<ListFinding> find_faults(const Schedule& compute_only) {
  std::vector<ListFinding> findings = find_incomplete(compute_only);
  if (!findings.empty()) return findings;
  Lowering lowering(compute_only);
  if (!lowering.run()) findings.push_back(lowering.stuck());
  return findings;
}

Schedule with_messages(const Schedule& compute_only) {
  Lowering lowering(compute_only);
  if (!lowering.run()) throw InputError(fmt::format("schedule {}: {}", compute_only.name, to_text(lowering.stuck())));
  return lowering.take();
}

Schedule lower(const Schedule& compute_only, bool tied) {
  verify_complete(compute_only);
  Schedule lowered = with_messages(compute_only);
  add_ending(lowered, tied);
  return lowered;
}

void add_ending(Schedule& lowered, bool tied) {
  const Placement& placement = lowered.placement;
  const std::int32_t last_stage = placement.stages() - 1;
  const std::int32_t first_rank = placement.rank_of(0);
  const std::int32_t last_rank = placement.rank_of(last_stage);
  if (tied && last_stage > 0) {
    lowered.ranks[static_cast<std::size_t>(first_rank)].push_back({0, ActionType::reduce, no_microbatch});
  }
  if (tied && first_rank != last_rank) {
    lowered.ranks[static_cast<std::size_t>(last_rank)].push_back({last_stage, ActionType::reduce, no_microbatch});
  }
  for (std::int32_t rank = 0; rank < placement.ranks; ++rank) {
    const std::int32_t lowest_stage = placement.stages_on(rank).front();
    lowered.ranks[static_cast<std::size_t>(rank)].push_back({lowest_stage, ActionType::step, no_microbatch});
  }
}

}  // namespace plumbline
