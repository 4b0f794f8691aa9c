// SPDX-License-Identifier: BSD-3-Clause
#include "pipeline/transport/nccl/receive_memory.hpp"

#include <algorithm>
#include <tuple>

namespace plumbline {

at::Tensor ReceiveMemory::allocate(GpuStream stream, const std::function<at::Tensor()>& make) {
  note_freed();
  Pool& pool = *std::ranges::min_element(pools_, {}, [](const Pool& each) {
    return std::tuple(each.just_freed, each.lent.size() == each.most_lent, each.freed_at, each.lent.size());
  });
  at::Tensor made;
  {
    const auto scope = cuda_.allocate_with(pool.key.get());
    made = make();
  }
  note_freed();  // again: a thread of autograd may have freed what was reused just now
  if (pool.last_use != GpuEvent::none) cuda_.wait(stream, pool.last_use);
  pool.lent.push_back(made.storage().getWeakStorageImpl());
  pool.most_lent = std::max(pool.most_lent, pool.lent.size());
  for (Pool& each : pools_) each.just_freed = false;
  return made;
}

void ReceiveMemory::note_freed() {
  for (Pool& pool : pools_) {
    if (std::erase_if(pool.lent, [](const auto& each) { return each.expired(); }) == 0) continue;
    if (pool.last_use != GpuEvent::none) events_.recycle(pool.last_use);
    pool.last_use = events_.record(cuda_.compute_stream());
    pool.just_freed = true;
    pool.freed_at = ++frees_;
  }
}

}  // namespace plumbline
