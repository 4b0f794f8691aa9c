// SPDX-License-Identifier: BSD-3-Clause
#include "schedule/one_f_one_b.hpp"

#include <algorithm>

namespace plumbline {

ActionList one_f_one_b_list(std::int32_t rank, std::int32_t ranks, std::int32_t microbatches) {
  const std::int32_t warm_up = std::min(microbatches, ranks - 1 - rank);
  ActionList list;
  list.reserve(2 * static_cast<std::size_t>(microbatches));
  for (std::int32_t m = 0; m < warm_up; ++m) list.push_back({rank, ActionType::forward, m});
  std::int32_t backward = 0;
  for (std::int32_t m = warm_up; m < microbatches; ++m) {
    list.push_back({rank, ActionType::forward, m});
    list.push_back({rank, ActionType::backward, backward++});
  }
  while (backward < microbatches) list.push_back({rank, ActionType::backward, backward++});
  return list;
}

}  // namespace plumbline
