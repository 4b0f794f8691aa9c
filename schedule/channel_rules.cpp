// SPDX-License-Identifier: BSD-3-Clause
#include "schedule/channel_rules.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "schedule/direction.hpp"
#include "schedule/message.hpp"

namespace plumbline {
namespace {

/// Positions of one rank's messages on a channel, in order.
using Ends = std::map<std::pair<std::int32_t, Direction>, std::vector<std::size_t>>;  // by peer

Ends ends_of(const Schedule& schedule, std::int32_t rank, bool sends) {
  Ends ends;
  const ActionList& list = schedule.ranks[static_cast<std::size_t>(rank)];
  for (std::size_t position = 0; position < list.size(); ++position) {
    const Action& action = list[position];
    if (!is_communication(action.type) || is_send(action.type) != sends) continue;
    const std::int32_t peer = schedule.placement.rank_of(partner(action).stage);
    ends[{peer, direction_of(action.type)}].push_back(position);
  }
  return ends;
}

}  // namespace

void check_channel_order(const Schedule& lowered, ListFindings& findings) {
  for (std::int32_t rank = 0; rank < lowered.placement.ranks; ++rank) {
    for (const auto& [channel, sends] : ends_of(lowered, rank, true)) {
      const auto& [peer, direction] = channel;
      // The receiving rank's list is traversed again for each of its senders: at most two.
      const auto receives = ends_of(lowered, peer, false)[{rank, direction}];
      const ActionList& list = lowered.ranks[static_cast<std::size_t>(rank)];
      const ActionList& peers = lowered.ranks[static_cast<std::size_t>(peer)];
      for (std::size_t i = 0; i < std::min(sends.size(), receives.size()); ++i) {
        const Action& send = list[sends[i]];
        const Action& receive = peers[receives[i]];
        if (partner(send) == receive) continue;
        findings.add(
            Rule::channel_order, rank, sends[i], send,
            fmt::format("rank {} receives {} (position {}) at that point; put the messages of the two ranks in "
                        "the same order",
                        peer, to_text(receive), receives[i]));
        break;  // one swap puts all later messages out of step
      }
    }
  }
}

void check_ending(const Schedule& lowered, bool tied, ListFindings& findings) {
  const Placement& placement = lowered.placement;
  const std::int32_t last_stage = placement.stages() - 1;
  for (std::int32_t rank = 0; rank < placement.ranks; ++rank) {
    ActionList expected;
    if (tied && last_stage > 0) {
      if (placement.rank_of(0) == rank) {
        expected.push_back({0, ActionType::reduce, no_microbatch});
      } else if (placement.rank_of(last_stage) == rank) {
        expected.push_back({last_stage, ActionType::reduce, no_microbatch});
      }
    }
    expected.push_back({placement.stages_on(rank).front(), ActionType::step, no_microbatch});

    const ActionList& list = lowered.ranks[static_cast<std::size_t>(rank)];
    const std::size_t begin = list.size() < expected.size() ? 0 : list.size() - expected.size();
    for (std::size_t position = 0; position < begin; ++position) {
      if (!is_ending(list[position].type)) continue;
      findings.add(Rule::ending, rank, position, list[position],
                   fmt::format("a rank ends with {}{}; remove it here, or what follows it", to_text(expected.front()),
                               expected.size() > 1 ? ", " + to_text(expected.back()) : ""));
    }
    for (std::size_t i = 0; i < expected.size(); ++i) {
      const std::size_t position = begin + i;
      if (position < list.size() && list[position] == expected[i]) continue;
      findings.add(Rule::ending, rank, position, position < list.size() ? list[position] : expected[i],
                   to_text(expected[i]) + " belongs here, at the list's end; put it there");
    }
  }
}

void check_accumulation(const Schedule& schedule, ListFindings& findings) {
  std::vector<std::int32_t> last(static_cast<std::size_t>(schedule.placement.stages()), no_microbatch);
  for (std::int32_t rank = 0; rank < schedule.placement.ranks; ++rank) {
    const ActionList& list = schedule.ranks[static_cast<std::size_t>(rank)];
    for (std::size_t position = 0; position < list.size(); ++position) {
      const Action& action = list[position];
      if (action.type != ActionType::backward && action.type != ActionType::backward_weight) continue;
      std::int32_t& before = last[static_cast<std::size_t>(action.stage)];
      if (action.microbatch < before) {
        findings.add(Rule::accumulation, rank, position, action,
                     fmt::format("stage {} has summed microbatch {} before; put them in ascending order, or give the "
                                 "reference this order",
                                 action.stage, before));
      }
      before = std::max(before, action.microbatch);
    }
  }
}

}  // namespace plumbline
