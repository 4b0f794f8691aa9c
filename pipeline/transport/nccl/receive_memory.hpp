// SPDX-License-Identifier: BSD-3-Clause
// CUDA events and streams that their owner destroys, and memory for the receive buffers of one edge.
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

#include "pipeline/transport/nccl/gpu_api.hpp"

namespace plumbline {

class GpuEvents {
 public:
  explicit GpuEvents(CudaApi& cuda) : cuda_(cuda) {}
  ~GpuEvents() {
    for (const GpuEvent event : all_) cuda_.destroy(event);
  }
  GpuEvents(const GpuEvents&) = delete;
  GpuEvents& operator=(const GpuEvents&) = delete;

  /// Records a free event on `stream`.
  GpuEvent record(GpuStream stream) {
    if (free_.empty()) {
      const GpuEvent made = cuda_.create_event();
      all_.push_back(made);
      free_.push_back(made);
    }
    const GpuEvent event = free_.back();
    free_.pop_back();
    cuda_.record(event, stream);
    return event;
  }
  /// A stream that already waits for the event keeps waiting for the work captured then.
  void recycle(GpuEvent event) { free_.push_back(event); }

 private:
  CudaApi& cuda_;
  std::vector<GpuEvent> all_;
  std::vector<GpuEvent> free_;
};

class OwnedStream {
 public:
  explicit OwnedStream(CudaApi& cuda) : cuda_(cuda), stream_(cuda.create_stream()) {}
  ~OwnedStream() { cuda_.destroy(stream_); }
  OwnedStream(const OwnedStream&) = delete;
  OwnedStream& operator=(const OwnedStream&) = delete;

  GpuStream get() const { return stream_; }

 private:
  CudaApi& cuda_;
  GpuStream stream_;
};

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
