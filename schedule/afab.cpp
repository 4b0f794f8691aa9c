// SPDX-License-Identifier: BSD-3-Clause
#include "schedule/afab.hpp"

namespace plumbline {

ActionList afab_list(std::int32_t stage, std::int32_t microbatches) {
  ActionList list;
  list.reserve(2 * static_cast<std::size_t>(microbatches));
  for (std::int32_t m = 0; m < microbatches; ++m) list.push_back({stage, ActionType::forward, m});
  for (std::int32_t m = 0; m < microbatches; ++m) list.push_back({stage, ActionType::backward, m});
  return list;
}

}  // namespace plumbline
