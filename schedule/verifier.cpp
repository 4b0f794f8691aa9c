#include "schedule/verifier.hpp"

#include <algorithm>

#include "schedule/microbatch_set.hpp"
#include "support/error.hpp"

namespace plumbline {
namespace {

/// "schedule 1f1b: rank 2, position 7, 2B3: "
std::string place(const Schedule& schedule, std::int32_t rank, std::size_t position, const Action& action) {
  return "schedule " + schedule.name + ": rank " + std::to_string(rank) + ", position " + std::to_string(position) +
         ", " + to_text(action) + ": ";
}

void verify_sizes(const Schedule& schedule) {
  const Placement& placement = schedule.placement;
  const auto lists = std::to_string(schedule.ranks.size());
  if (placement.ranks < 1 || placement.chunks_per_rank < 1 || schedule.microbatches < 1) {
    throw InputError("schedule " + schedule.name + ": ranks, chunks a rank and microbatches must be at least 1");
  }
  if (schedule.ranks.size() != static_cast<std::size_t>(placement.ranks)) {
    throw InputError("schedule " + schedule.name + " has lists for " + lists + " ranks and is placed on " +
                     std::to_string(placement.ranks) + "; give one list a rank");
  }
}

/// Range and rank of one action; every check after it may index by stage and microbatch.
void verify_indices(const Schedule& schedule, std::int32_t rank, std::size_t position, const Action& action) {
  const Placement& placement = schedule.placement;
  const std::int32_t stages = placement.stages();
  if (action.stage < 0 || action.stage >= stages) {
    throw InputError(place(schedule, rank, position, action) + "there are only the stages 0 to " +
                     std::to_string(stages - 1) + "; correct the stage or set chunks");
  }
  if (placement.rank_of(action.stage) != rank) {
    throw InputError(place(schedule, rank, position, action) + "stage " + std::to_string(action.stage) +
                     " lies on rank " + std::to_string(placement.rank_of(action.stage)) +
                     "; move the action to that rank's list");
  }
  const bool counted = is_compute(action.type) || is_communication(action.type);
  if (counted && (action.microbatch < 0 || action.microbatch >= schedule.microbatches)) {
    throw InputError(place(schedule, rank, position, action) + "there are only the microbatches 0 to " +
                     std::to_string(schedule.microbatches - 1) + "; correct the microbatch");
  }
}

/// What has happened to each (stage, microbatch) so far.
struct Done {
  explicit Done(const Schedule& schedule)
      : forward(schedule.placement.stages(), schedule.microbatches), input(forward), weight(forward) {}
  MicrobatchSet forward;
  MicrobatchSet input;   // I, or B
  MicrobatchSet weight;  // W, or B
};

void do_compute(const Schedule& schedule, std::int32_t rank, std::size_t position, const Action& action, Done& done) {
  const auto fault = [&](const std::string& text) {
    return InputError(place(schedule, rank, position, action) + text);
  };
  const std::int32_t s = action.stage;
  const std::int32_t m = action.microbatch;
  if (action.type == ActionType::forward) {
    if (!done.forward.add(s, m)) throw fault("this forward stands in the list already; remove one of the two");
    return;
  }
  if (!done.forward.has(s, m)) throw fault("its forward has not run yet; put it before");
  if (action.type == ActionType::backward_weight) {
    if (!done.input.has(s, m)) throw fault("the weight gradient comes before the input gradient; put I before W");
    if (!done.weight.add(s, m)) throw fault("the weight gradient was computed already (by B or W); remove this one");
    return;
  }
  if (!done.input.add(s, m)) throw fault("the input gradient was computed already (by B or I); remove this one");
  if (action.type == ActionType::backward) done.weight.add(s, m);
}

void verify_nothing_missing(const Schedule& schedule, const Done& done) {
  for (std::int32_t s = 0; s < schedule.placement.stages(); ++s) {
    const std::int32_t rank = schedule.placement.rank_of(s);
    const std::size_t end = schedule.ranks[static_cast<std::size_t>(rank)].size();
    for (std::int32_t m = 0; m < schedule.microbatches; ++m) {
      const auto missing = [&](ActionType type) {
        return InputError(place(schedule, rank, end, {s, type, m}) + "the list ends without it; add it");
      };
      if (!done.forward.has(s, m)) throw missing(ActionType::forward);
      if (!done.input.has(s, m)) throw missing(ActionType::backward);
      if (!done.weight.has(s, m)) throw missing(ActionType::backward_weight);
    }
  }
}

/// Runs lowered lists as if every SEND and RECV blocked. Each action is looked at a bounded number of times, so that
/// the cost is linear.
class BlockingRun {
 public:
  explicit BlockingRun(const Schedule& schedule)
      : schedule_(schedule),
        placement_(schedule.placement),
        done_(schedule),
        activations_(placement_.stages(), schedule.microbatches),
        gradients_(activations_),
        next_(schedule.ranks.size(), 0) {}

  void run() {
    std::vector<std::int32_t> runnable;
    for (std::int32_t rank = placement_.ranks; rank-- > 0;) runnable.push_back(rank);
    while (!runnable.empty()) {
      const std::int32_t rank = runnable.back();
      runnable.pop_back();
      while (advance(rank, runnable)) {
      }
    }
    for (std::int32_t rank = 0; rank < placement_.ranks; ++rank) {
      if (!at_end(rank)) throw InputError(stuck(rank));
    }
    verify_nothing_missing(schedule_, done_);
  }

 private:
  std::size_t& next(std::int32_t rank) { return next_[static_cast<std::size_t>(rank)]; }
  std::size_t position(std::int32_t rank) const { return next_[static_cast<std::size_t>(rank)]; }
  const ActionList& list(std::int32_t rank) const { return schedule_.ranks[static_cast<std::size_t>(rank)]; }
  bool at_end(std::int32_t rank) const { return position(rank) == list(rank).size(); }
  const Action& head(std::int32_t rank) const { return list(rank)[position(rank)]; }

  /// The other end of a message.
  Action partner(const Action& action) const {
    switch (action.type) {
      case ActionType::send_forward:
        return {action.stage + 1, ActionType::receive_forward, action.microbatch};
      case ActionType::receive_forward:
        return {action.stage - 1, ActionType::send_forward, action.microbatch};
      case ActionType::send_backward:
        return {action.stage - 1, ActionType::receive_backward, action.microbatch};
      default:
        return {action.stage + 1, ActionType::send_backward, action.microbatch};
    }
  }

  InputError fault(std::int32_t rank, const std::string& text) const {
    return InputError(place(schedule_, rank, position(rank), head(rank)) + text);
  }

  bool is_input_needed(const Action& action) const {
    if (action.type == ActionType::forward) {
      return action.stage > 0 && placement_.rank_of(action.stage - 1) != placement_.rank_of(action.stage);
    }
    return action.type != ActionType::backward_weight && action.stage + 1 < placement_.stages() &&
           placement_.rank_of(action.stage + 1) != placement_.rank_of(action.stage);
  }

  void compute(std::int32_t rank) {
    const Action& action = head(rank);
    const bool forward = action.type == ActionType::forward;
    const MicrobatchSet& arrived = forward ? activations_ : gradients_;
    if (is_input_needed(action) && !arrived.has(action.stage, action.microbatch)) {
      throw fault(rank,
                  std::string("it is not received before; put ") + (forward ? "RECV_F" : "RECV_B") + " before it");
    }
    do_compute(schedule_, rank, position(rank), action, done_);
  }

  void verify_message(std::int32_t rank) const {
    const Action& action = head(rank);
    const Action other = partner(action);
    if (other.stage < 0 || other.stage >= placement_.stages() || placement_.rank_of(other.stage) == rank) {
      throw fault(rank, "there is no other rank at the message's other end; remove it");
    }
    const bool computed = action.type == ActionType::send_forward ? done_.forward.has(action.stage, action.microbatch)
                                                                  : done_.input.has(action.stage, action.microbatch);
    const bool sends = action.type == ActionType::send_forward || action.type == ActionType::send_backward;
    if (sends && !computed) throw fault(rank, "what it sends has not been computed yet; put it after its F or B");
  }

  bool advance(std::int32_t rank, std::vector<std::int32_t>& runnable) {
    if (at_end(rank)) return false;
    const Action& action = head(rank);
    verify_indices(schedule_, rank, position(rank), action);
    if (is_communication(action.type)) {
      verify_message(rank);
      const std::int32_t peer = placement_.rank_of(partner(action).stage);
      if (at_end(peer) || head(peer) != partner(action)) return false;
      const bool sends = action.type == ActionType::send_forward || action.type == ActionType::send_backward;
      arrive(rank, sends ? partner(action) : action);
      // the receiver came first: its sender has not been looked at yet
      if (!sends) verify_message(peer);
      ++next(peer);
      runnable.push_back(peer);
    } else if (is_compute(action.type)) {
      compute(rank);
    }
    ++next(rank);
    return true;
  }

  void arrive(std::int32_t rank, const Action& receive) {
    MicrobatchSet& arrived = receive.type == ActionType::receive_forward ? activations_ : gradients_;
    if (!arrived.add(receive.stage, receive.microbatch)) {
      throw fault(rank, "this message was sent already; remove one of the two");
    }
  }

  std::string stuck(std::int32_t rank) const {
    const Action other = partner(head(rank));
    const std::int32_t peer = placement_.rank_of(other.stage);
    std::string text = place(schedule_, rank, position(rank), head(rank)) + "it waits forever for " + to_text(other) +
                       " on rank " + std::to_string(peer) + ", which ";
    const ActionList& peers = list(peer);
    const auto from = peers.begin() + static_cast<std::ptrdiff_t>(position(peer));
    if (std::find(from, peers.end(), other) == peers.end()) {
      return text + "never does it; add it there or remove this action";
    }
    return text + "stands at position " + std::to_string(position(peer)) + ", " + to_text(head(peer)) +
           "; put the messages of the two ranks in the same order";
  }

  const Schedule& schedule_;
  const Placement& placement_;
  Done done_;
  MicrobatchSet activations_;
  MicrobatchSet gradients_;
  std::vector<std::size_t> next_;
};

}  // namespace

void verify_complete(const Schedule& compute_only) {
  verify_sizes(compute_only);
  Done done(compute_only);
  for (std::int32_t rank = 0; rank < compute_only.placement.ranks; ++rank) {
    const ActionList& list = compute_only.ranks[static_cast<std::size_t>(rank)];
    for (std::size_t position = 0; position < list.size(); ++position) {
      const Action& action = list[position];
      if (!is_compute(action.type)) {
        throw InputError(place(compute_only, rank, position, action) +
                         "a compute-only list holds F, B, I and W alone; remove it, lowering adds the messages");
      }
      verify_indices(compute_only, rank, position, action);
      do_compute(compute_only, rank, position, action, done);
    }
  }
  verify_nothing_missing(compute_only, done);
}

void verify_blocking(const Schedule& lowered) {
  verify_sizes(lowered);
  BlockingRun(lowered).run();
}

std::int64_t peak_slots(const ActionList& list) {
  std::int64_t open = 0;
  std::int64_t peak = 0;
  for (const Action& action : list) {
    if (action.type == ActionType::forward) peak = std::max(peak, ++open);
    if (action.type == ActionType::backward || action.type == ActionType::backward_weight) --open;
  }
  return peak;
}

}  // namespace plumbline
