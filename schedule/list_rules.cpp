// SPDX-License-Identifier: BSD-3-Clause
#include "schedule/list_rules.hpp"

#include <fmt/format.h>

#include "schedule/direction.hpp"
#include "schedule/message.hpp"

namespace plumbline {

bool check_sizes(const Schedule& schedule, ListFindings& findings) {
  const Placement& placement = schedule.placement;
  if (placement.ranks < 1 || placement.chunks_per_rank < 1 || schedule.microbatches < 1) {
    findings.add(Rule::size, 0, 0, {}, "ranks, chunks a rank and microbatches must be at least 1");
  } else if (schedule.ranks.size() != static_cast<std::size_t>(placement.ranks)) {
    findings.add(Rule::size, 0, 0, {},
                 fmt::format("there are lists for {} ranks and is placed on {}; give one list a rank",
                             schedule.ranks.size(), placement.ranks));
  }
  return findings.empty();
}

ListRules::ListRules(const Schedule& schedule, ListFindings& findings)
    : schedule_(schedule),
      placement_(schedule.placement),
      findings_(findings),
      forward_(placement_.stages(), schedule.microbatches),
      input_(forward_),
      weight_(forward_),
      sent_{forward_, forward_},
      received_{forward_, forward_} {}

bool ListRules::in_range(std::int32_t rank, std::size_t position, const Action& action) {
  const std::int32_t stages = placement_.stages();
  if (action.stage < 0 || action.stage >= stages) {
    findings_.add(Rule::range, rank, position, action,
                  fmt::format("there are only the stages 0 to {}; correct the stage or set chunks", stages - 1));
    return false;
  }
  if (placement_.rank_of(action.stage) != rank) {
    findings_.add(Rule::rank, rank, position, action,
                  fmt::format("stage {} is on rank {}; move the action to that rank's list", action.stage,
                              placement_.rank_of(action.stage)));
    return false;
  }
  const bool counted = is_compute(action.type) || is_communication(action.type);
  if (counted && (action.microbatch < 0 || action.microbatch >= schedule_.microbatches)) {
    findings_.add(
        Rule::range, rank, position, action,
        fmt::format("there are only the microbatches 0 to {}; correct the microbatch", schedule_.microbatches - 1));
    return false;
  }
  return true;
}

void ListRules::check_rank(std::int32_t rank, bool compute_only) {
  const ActionList& list = schedule_.ranks[static_cast<std::size_t>(rank)];
  for (std::size_t position = 0; position < list.size() && !findings_.full(); ++position) {
    const Action& action = list[position];
    if (compute_only && !is_compute(action.type)) {
      findings_.add(Rule::kind, rank, position, action,
                    "a compute-only list holds only F, B, I and W; remove it, lowering adds the messages");
    } else if (in_range(rank, position, action)) {
      if (is_compute(action.type)) check_compute(rank, position, action, compute_only);
      if (is_communication(action.type)) check_message(rank, position, action);
    }
  }
}

/// The activation or gradient must be on the rank: received, or computed there.
void ListRules::check_input(std::int32_t rank, std::size_t position, const Action& action) {
  const bool forward = action.type == ActionType::forward;
  const std::int32_t from = forward ? action.stage - 1 : action.stage + 1;
  if (from < 0 || from >= placement_.stages()) return;
  if (placement_.rank_of(from) == rank) {
    const Action needed{from, action.type, action.microbatch};
    if (!(forward ? forward_ : input_).has(from, action.microbatch)) {
      findings_.add(
          Rule::order, rank, position, action,
          fmt::format("it needs what stage {} on the same rank provides; put {} before it", from, to_text(needed)));
    }
  } else if (!received_[forward ? 0 : 1].has(action.stage, action.microbatch)) {
    findings_.add(Rule::order, rank, position, action,
                  fmt::format("it has not been received; put {} before it", forward ? "RECV_F" : "RECV_B"));
  }
}

void ListRules::check_compute(std::int32_t rank, std::size_t position, const Action& action, bool compute_only) {
  const auto fault = [&](Rule rule, const char* text) { findings_.add(rule, rank, position, action, text); };
  const std::int32_t s = action.stage;
  const std::int32_t m = action.microbatch;
  if (action.type != ActionType::backward_weight && !compute_only) check_input(rank, position, action);
  if (action.type == ActionType::forward) {
    if (!forward_.add(s, m)) fault(Rule::duplicate, "this forward is already in the list; remove one of the two");
    return;
  }
  if (!forward_.has(s, m)) fault(Rule::order, "its forward has not run; put it before");
  if (action.type == ActionType::backward_weight) {
    if (!input_.has(s, m)) {
      fault(Rule::order, "the weight gradient comes before the input gradient; put I before W");
    }
    if (!weight_.add(s, m)) {
      fault(Rule::duplicate, "the weight gradient was already computed (by B or W); remove this one");
    }
    return;
  }
  if (!input_.add(s, m)) {
    fault(Rule::duplicate, "the input gradient was already computed (by B or I); remove this one");
  }
  if (action.type == ActionType::backward && !weight_.add(s, m)) {
    fault(Rule::duplicate, "the weight gradient was already computed (by B or W); remove one of the two");
  }
}

void ListRules::check_message(std::int32_t rank, std::size_t position, const Action& action) {
  const Action other = partner(action);
  if (other.stage < 0 || other.stage >= placement_.stages() || placement_.rank_of(other.stage) == rank) {
    findings_.add(Rule::message, rank, position, action, "no other rank takes part in this message; remove it");
    return;
  }
  const std::size_t direction = direction_of(action.type) == Direction::forward ? 0 : 1;
  const bool sends = is_send(action.type);
  if (!(sends ? sent_ : received_)[direction].add(action.stage, action.microbatch)) {
    findings_.add(Rule::duplicate, rank, position, action,
                  fmt::format("this message was {} already; remove one of the two", sends ? "sent" : "received"));
  }
  if (sends && !(direction == 0 ? forward_ : input_).has(action.stage, action.microbatch)) {
    findings_.add(Rule::order, rank, position, action, "what it sends has not been computed; put it after its F or B");
  }
}

void ListRules::missing(Rule rule, const Action& action, const std::string& text) {
  const std::int32_t rank = placement_.rank_of(action.stage);
  findings_.add(rule, rank, schedule_.ranks[static_cast<std::size_t>(rank)].size(), action, text);
}

void ListRules::check_missing(bool compute_only) {
  const std::string text = "it is missing from the list; add it";
  for (std::int32_t s = 0; s < placement_.stages(); ++s) {
    const bool message =
        !compute_only && s + 1 < placement_.stages() && placement_.rank_of(s) != placement_.rank_of(s + 1);
    for (std::int32_t m = 0; m < schedule_.microbatches && !findings_.full(); ++m) {
      if (!forward_.has(s, m)) missing(Rule::missing, {s, ActionType::forward, m}, text);
      if (!input_.has(s, m)) {
        missing(Rule::missing, {s, ActionType::backward, m}, text);
      } else if (!weight_.has(s, m)) {
        missing(Rule::missing, {s, ActionType::backward_weight, m}, text);
      }
      if (!message) continue;
      if (!sent_[0].has(s, m)) missing(Rule::message, {s, ActionType::send_forward, m}, text);
      if (!received_[0].has(s + 1, m)) missing(Rule::message, {s + 1, ActionType::receive_forward, m}, text);
      if (!sent_[1].has(s + 1, m)) missing(Rule::message, {s + 1, ActionType::send_backward, m}, text);
      if (!received_[1].has(s, m)) missing(Rule::message, {s, ActionType::receive_backward, m}, text);
    }
  }
}

}  // namespace plumbline
