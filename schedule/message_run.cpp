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

class MessageRun {
 public:
  explicit MessageRun(const Schedule& schedule)
      : schedule_(schedule),
        placement_(schedule.placement),
        activations_(placement_.stages(), schedule.microbatches),
        gradients_(activations_),
        next_(schedule.ranks.size(), 0) {}

  void run(ListFindings& findings) {
    for (std::int32_t rank = placement_.ranks; rank-- > 0;) runnable_.push_back(rank);
    while (!runnable_.empty()) {
      const std::int32_t rank = runnable_.back();
      runnable_.pop_back();
      while (advance(rank)) {
      }
    }
    for (std::int32_t rank = 0; rank < placement_.ranks; ++rank) {
      if (!at_end(rank)) return spell_out(rank, findings);
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
    if (is_compute(action.type) && !has_input(rank, action)) return false;
    if (is_communication(action.type) && is_send(action.type)) arrive(partner(action));
    ++next(rank);
    return true;
  }

  std::string text(const Place& place) const {
    return fmt::format("{} (rank {}, position {})", to_text(at(place)), place.rank, place.position);
  }

  /// The SEND that a waiting compute action needs.
  Action needed_by(const Place& place) const {
    const Action& action = at(place);
    const auto receive =
        action.type == ActionType::forward ? ActionType::receive_forward : ActionType::receive_backward;
    return partner({action.stage, receive, action.microbatch});
  }

  void spell_out(std::int32_t rank, ListFindings& findings) {
    std::vector<Place> seen;
    std::vector<std::string> words;
    Place place{rank, position(rank)};
    while (std::find(seen.begin(), seen.end(), place) == seen.end()) {
      seen.push_back(place);
      const Action needed = needed_by(place);
      const std::int32_t sender = placement_.rank_of(needed.stage);
      words.push_back(fmt::format(" needs {}, before which rank {} must get past ", to_text(needed), sender));
      place = {sender, position(sender)};
    }
    const auto begin = static_cast<std::size_t>(std::find(seen.begin(), seen.end(), place) - seen.begin());
    std::string circle = "it waits forever: " + text(seen[begin]);
    for (std::size_t i = begin; i < words.size(); ++i) {
      circle += words[i] + (i + 1 < seen.size() ? text(seen[i + 1]) + ", which" : text(place));
    }
    findings.add(Rule::deadlock, seen[begin].rank, seen[begin].position, at(seen[begin]),
                 circle + "; put one of these SENDs before the action that its rank waits at");
  }

  const Schedule& schedule_;
  const Placement& placement_;
  MicrobatchSet activations_;
  MicrobatchSet gradients_;
  std::vector<std::size_t> next_;
  std::vector<std::int32_t> runnable_;
};

}  // namespace

void check_deadlock(const Schedule& lowered, ListFindings& findings) {
  MessageRun(lowered).run(findings);
}

}  // namespace plumbline
