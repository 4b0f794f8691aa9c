// SPDX-License-Identifier: BSD-3-Clause
#include "harness/sweep/slots.hpp"

#include <algorithm>

namespace plumbline {

Slots::Slots(std::int64_t count) : count_(count) {
  for (std::int64_t slot = 0; slot < count; ++slot) free_.insert(slot);
}

void Slots::add(std::size_t run, std::int64_t ranks) {
  waiting_.push_back({run, std::min(ranks, count_)});
}

std::optional<Slots::Begun> Slots::next() {
  const auto found =
      std::ranges::find_if(waiting_, [&](const Waiting& each) { return each.slots <= std::ssize(free_); });
  if (found == waiting_.end()) return std::nullopt;
  Begun begun{found->run, {}};
  for (std::int64_t i = 0; i < found->slots; ++i) {
    begun.slots.push_back(*free_.begin());
    free_.erase(free_.begin());
  }
  waiting_.erase(found);
  taken_[begun.run] = begun.slots;
  return begun;
}

void Slots::ended(std::size_t run) {
  const auto found = taken_.find(run);
  if (found == taken_.end()) return;
  free_.insert(found->second.begin(), found->second.end());
  taken_.erase(found);
}

}  // namespace plumbline
