// SPDX-License-Identifier: BSD-3-Clause
// A pool of CUDA events: creating one per message would cost more than recording it.
#pragma once

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

}  // namespace plumbline
