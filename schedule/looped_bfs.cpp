// SPDX-License-Identifier: BSD-3-Clause
#include "schedule/looped_bfs.hpp"

namespace plumbline {

ActionList looped_bfs_list(std::int32_t rank, std::int32_t ranks, std::int32_t microbatches, std::int32_t chunks) {
  ActionList list;
  for (std::int32_t chunk = 0; chunk < chunks; ++chunk) {
    for (std::int32_t m = 0; m < microbatches; ++m) list.push_back({chunk * ranks + rank, ActionType::forward, m});
  }
  for (std::int32_t chunk = chunks; chunk-- > 0;) {
    for (std::int32_t m = 0; m < microbatches; ++m) list.push_back({chunk * ranks + rank, ActionType::backward, m});
  }
  return list;
}

}  // namespace plumbline
