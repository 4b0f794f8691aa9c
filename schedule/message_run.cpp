// SPDX-License-Identifier: BSD-3-Clause
#include "schedule/message_run.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "schedule/direction.hpp"
#include "schedule/message.hpp"
#include "schedule/microbatch_set.hpp"

namespace plumbline {
namespace {

/// Posted messages of one rank in order; those before `head` have been delivered.
struct Queue {
  std::int32_t peer;
  bool forward;
  std::vector<std::uint32_t> positions;
  std::size_t head = 0;

  bool empty() const { return head == positions.size(); }
};

class MessageRun {
 public:
  MessageRun(const Schedule& schedule, ExecutionModel model)
      : schedule_(schedule),
        placement_(schedule.placement),
        model_(model),
        activations_(placement_.stages(), schedule.microbatches),
        gradients_(activations_),
        next_(schedule.ranks.size(), 0),
        queues_(schedule.ranks.size()) {}

  void run(ListFindings& findings) {
    for (std::int32_t rank = placement_.ranks; rank-- > 0;) runnable_.push_back(rank);
    while (!runnable_.empty()) {
      const std::int32_t rank = runnable_.back();
      runnable_.pop_back();
      while (advance(rank)) {
      }
    }
    for (std::int32_t rank = 0; rank < placement_.ranks; ++rank) {
      if (!at_end(rank) || unfinished(rank)) return spell_out(rank, findings);
    }
  }

 private:
  struct Place {
    std::int32_t rank;
    std::size_t position;
    friend bool operator==(const Place&, const Place&) = default;
  };

  std::size_t& next(std::int32_t rank) { return next_[static_cast<std::size_t>(rank)]; }
  std::size_t position(std::int32_t rank) const { return next_[static_cast<std::size_t>(rank)]; }
  const ActionList& list(std::int32_t rank) const { return schedule_.ranks[static_cast<std::size_t>(rank)]; }
  const Action& at(const Place& place) const { return list(place.rank)[place.position]; }
  bool at_end(std::int32_t rank) const { return position(rank) == list(rank).size(); }
  const Action& head(std::int32_t rank) const { return list(rank)[position(rank)]; }
  std::vector<Queue>& queues(std::int32_t rank) { return queues_[static_cast<std::size_t>(rank)]; }
  bool unfinished(std::int32_t rank) {
    return std::any_of(queues(rank).begin(), queues(rank).end(), [](const Queue& queue) { return !queue.empty(); });
  }

  /// The queue of a rank's end of a message. A rank has few: one or two peers, two directions.
  Queue& queue_of(std::int32_t rank, const Action& action) {
    const std::int32_t peer = model_ == ExecutionModel::stream ? 0 : placement_.rank_of(partner(action).stage);
    const bool forward = model_ == ExecutionModel::pair || direction_of(action.type) == Direction::forward;
    for (Queue& queue : queues(rank)) {
      if (queue.peer == peer && queue.forward == forward) return queue;
    }
    return queues(rank).emplace_back(Queue{peer, forward, {}, 0});
  }

  bool has_input(std::int32_t rank, const Action& action) const {
    const bool forward = action.type == ActionType::forward;
    const std::int32_t from = forward ? action.stage - 1 : action.stage + 1;
    if (from < 0 || from >= placement_.stages()) return true;  // W: its I, earlier in the list, already had its input
    if (placement_.rank_of(from) == rank) return true;
    return (forward ? activations_ : gradients_).has(action.stage, action.microbatch);
  }

  void arrive(const Action& receive) {
    (direction_of(receive.type) == Direction::forward ? activations_ : gradients_)
        .add(receive.stage, receive.microbatch);
    runnable_.push_back(placement_.rank_of(receive.stage));
  }

  bool advance(std::int32_t rank) {
    if (at_end(rank)) return false;
    const Action& action = head(rank);
    if (is_compute(action.type)) {
      if (!has_input(rank, action)) return false;
    } else if (is_communication(action.type)) {
      if (model_ == ExecutionModel::blocking) return meet(rank);
      if (model_ == ExecutionModel::buffered) {
        if (is_send(action.type)) arrive(partner(action));
      } else {
        Queue& queue = queue_of(rank, action);
        queue.positions.push_back(static_cast<std::uint32_t>(position(rank)));
        ++next(rank);
        move(rank, queue);
        return true;
      }
    } else if (unfinished(rank)) {
      return false;  // a step ends only after its messages
    }
    ++next(rank);
    return true;
  }

  /// Blocking: both ends at the same time, or wait.
  bool meet(std::int32_t rank) {
    const Action other = partner(head(rank));
    const std::int32_t peer = placement_.rank_of(other.stage);
    if (at_end(peer) || head(peer) != other) return false;
    arrive(is_send(other.type) ? head(rank) : other);
    runnable_.push_back(peer);
    ++next(peer);
    ++next(rank);
    return true;
  }

  /// Posted: delivers messages as long as one is first in the queues of both ends.
  void move(std::int32_t rank, const Queue& first) {
    // By index: a peer's new queue may reallocate this vector.
    std::vector<std::pair<std::int32_t, std::size_t>> to_try = {
        {rank, static_cast<std::size_t>(&first - queues(rank).data())}};
    while (!to_try.empty()) {
      const auto [here, number] = to_try.back();
      to_try.pop_back();
      Queue& queue = queues(here)[number];
      if (queue.empty()) continue;
      const Action action = list(here)[queue.positions[queue.head]];
      const Action other = partner(action);
      const std::int32_t peer = placement_.rank_of(other.stage);
      Queue& others = queue_of(peer, other);
      if (others.empty() || list(peer)[others.positions[others.head]] != other) continue;
      ++queues(here)[number].head;
      ++others.head;
      arrive(is_send(action.type) ? other : action);
      runnable_.push_back(here);
      runnable_.push_back(peer);
      to_try.emplace_back(here, number);
      to_try.emplace_back(peer, static_cast<std::size_t>(&others - queues(peer).data()));
    }
  }

  Place find(std::int32_t rank, const Action& action) const {
    const ActionList& all = list(rank);
    return {rank, static_cast<std::size_t>(std::find(all.begin(), all.end(), action) - all.begin())};
  }

  std::string text(const Place& place) const {
    return fmt::format("{} (rank {}, position {})", to_text(at(place)), place.rank, place.position);
  }

  /// What a waiting action waits for, and its description.
  std::pair<Place, std::string> blocker(const Place& place) {
    const Action& action = at(place);
    if (is_compute(action.type)) {
      const auto receive =
          action.type == ActionType::forward ? ActionType::receive_forward : ActionType::receive_backward;
      const Place needed = find(place.rank, {action.stage, receive, action.microbatch});
      if (needed.position < place.position && model_ != ExecutionModel::buffered) return {needed, " needs "};
      const Place sender = {placement_.rank_of(partner(at(needed)).stage), 0};
      return {{sender.rank, position(sender.rank)},
              fmt::format(" needs {}, before which rank {} must get past ", to_text(partner(at(needed))), sender.rank)};
    }
    if (!is_communication(action.type)) {
      for (Queue& queue : queues(place.rank)) {
        if (!queue.empty()) return {{place.rank, queue.positions[queue.head]}, " waits for the end of "};
      }
    }
    const bool posted = model_ != ExecutionModel::blocking;
    if (posted) {
      const Queue& queue = queue_of(place.rank, action);
      if (!queue.empty() && queue.positions[queue.head] != place.position) {
        return {{place.rank, queue.positions[queue.head]}, " is queued behind "};
      }
    }
    const Action other = partner(action);
    const std::int32_t peer = placement_.rank_of(other.stage);
    const std::string met = fmt::format(" needs {} on rank {}", to_text(other), peer);
    if (posted) {
      const Place end = find(peer, other);
      const Queue& queue = queue_of(peer, other);
      if (end.position < position(peer) && !queue.empty()) {
        return {{peer, queue.positions[queue.head]}, met + ", which is queued behind "};
      }
    }
    return {{peer, position(peer)}, met + ", which gets there only after "};
  }

  void spell_out(std::int32_t rank, ListFindings& findings) {
    Place place{rank, position(rank)};
    if (at_end(rank)) {  // only its messages remain
      for (const Queue& queue : queues(rank)) {
        if (!queue.empty()) place.position = queue.positions[queue.head];
      }
    }
    std::vector<Place> seen;
    std::vector<std::string> words;
    while (std::find(seen.begin(), seen.end(), place) == seen.end()) {
      seen.push_back(place);
      if (place.position >= list(place.rank).size()) break;
      auto [waits_for, why] = blocker(place);
      words.push_back(std::move(why));
      place = waits_for;
    }
    const auto begin = static_cast<std::size_t>(std::find(seen.begin(), seen.end(), place) - seen.begin());
    std::string circle = fmt::format("it waits forever under the model {}: {}", name(model_), text(seen[begin]));
    for (std::size_t i = begin; i < words.size(); ++i) {
      circle += words[i] + (i + 1 < seen.size() ? text(seen[i + 1]) + ", which" : text(place));
    }
    findings.add(Rule::deadlock, seen[begin].rank, seen[begin].position, at(seen[begin]),
                 circle + "; put the messages of these ranks in the same order, each RECV at its SEND's position");
  }

  const Schedule& schedule_;
  const Placement& placement_;
  ExecutionModel model_;
  MicrobatchSet activations_;
  MicrobatchSet gradients_;
  std::vector<std::size_t> next_;
  std::vector<std::vector<Queue>> queues_;
  std::vector<std::int32_t> runnable_;
};

}  // namespace

void check_deadlock(const Schedule& lowered, ExecutionModel model, ListFindings& findings) {
  MessageRun(lowered, model).run(findings);
}

}  // namespace plumbline
