// SPDX-License-Identifier: BSD-3-Clause
#include "schedule/zero_bubble_h.hpp"

#include <algorithm>

namespace plumbline {

ActionList zero_bubble_h_list(std::int32_t rank, std::int32_t ranks, std::int32_t microbatches, std::int32_t depth) {
  // Products in 64 bits: a rank count that fits must not overflow here.
  const auto warm_up = static_cast<std::int32_t>(
      std::min(std::int64_t{microbatches}, std::int64_t{depth} * (std::int64_t{ranks} - 1 - rank)));
  const auto lag = static_cast<std::int32_t>(std::min(std::int64_t{microbatches}, std::int64_t{depth} * rank));
  ActionList list;
  list.reserve(3 * static_cast<std::size_t>(microbatches));
  for (std::int32_t m = 0; m < warm_up; ++m) list.push_back({rank, ActionType::forward, m});
  for (std::int32_t m = 0; m < microbatches; ++m) {
    if (m < microbatches - warm_up) list.push_back({rank, ActionType::forward, warm_up + m});
    list.push_back({rank, ActionType::backward_input, m});
    if (m >= lag) list.push_back({rank, ActionType::backward_weight, m - lag});
  }
  for (std::int32_t m = microbatches - lag; m < microbatches; ++m) {
    list.push_back({rank, ActionType::backward_weight, m});
  }
  return list;
}

}  // namespace plumbline
