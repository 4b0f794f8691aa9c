// SPDX-License-Identifier: BSD-3-Clause
// Memory for the receive buffers of one edge.
//
// The host frees a tensor while compute that uses it may still be queued, and the allocator reuses its memory, since
// all use is on one stream. A receive is on another: so its buffer comes from a pool of its own, and it waits for the
// last use of that pool's memory. There are two pools, so that this is not the compute queued just before.
#pragma once

#include <ATen/core/Tensor.h>
#include <c10/core/StorageImpl.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "pipeline/transport/nccl/gpu_events.hpp"
#include "pipeline/transport/nccl/owned_stream.hpp"

namespace plumbline {

class ReceiveMemory {
 public:
  ReceiveMemory(CudaApi& cuda, GpuEvents& events) : cuda_(cuda), events_(events), pools_{Pool(cuda), Pool(cuda)} {}

  /// The tensor that `make` allocates. Later work on `stream` starts after the last use of its memory.
  at::Tensor allocate(GpuStream stream, const std::function<at::Tensor()>& make);
  /// Records an event behind the last use of buffers that were freed: the sooner, the less a receive waits.
  void note_freed();

 private:
  struct Pool {
    explicit Pool(CudaApi& cuda) : key(cuda) {}

    OwnedStream key;  ///< names the pool to the allocator; nothing is queued on it
    std::vector<c10::weak_intrusive_ptr<c10::StorageImpl>> lent;
    std::size_t most_lent = 0;
    bool just_freed = false;  ///< since the last buffer was allocated
    std::int64_t freed_at = 0;
    GpuEvent last_use = GpuEvent::none;
  };

  CudaApi& cuda_;
  GpuEvents& events_;
  std::array<Pool, 2> pools_;
  std::int64_t frees_ = 0;
};

}  // namespace plumbline
