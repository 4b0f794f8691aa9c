// SPDX-License-Identifier: BSD-3-Clause
#include "schedule/own_messages.hpp"

#include <algorithm>

#include "schedule/lowering.hpp"
#include "schedule/schedule_csv.hpp"

namespace plumbline {

std::optional<ListFinding> find_own_messages(const Schedule& lowered, bool tied, const std::string& transport) {
  if (transport != "nccl") return std::nullopt;
  const Schedule ours = lower(compute_actions(lowered), tied);
  for (std::size_t rank = 0; rank < lowered.ranks.size(); ++rank) {
    const ActionList &theirs = lowered.ranks[rank], &safe = ours.ranks[rank];
    const auto differs = std::mismatch(theirs.begin(), theirs.end(), safe.begin(), safe.end()).first;
    if (differs == theirs.end()) continue;
    return ListFinding{Rule::deadlock, static_cast<std::int32_t>(rank),
                       static_cast<std::size_t>(differs - theirs.begin()), *differs,
                       "messages in this order may wait forever over NCCL, where a RECV ends only when the SEND "
                       "of the same batch has been received too; omit SEND and RECV, and they are placed safely"};
  }
  return std::nullopt;
}

}  // namespace plumbline
