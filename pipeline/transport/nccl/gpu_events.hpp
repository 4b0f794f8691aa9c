// SPDX-License-Identifier: BSD-3-Clause
// CUDA events, used again and again: making one for each message would cost more than recording it.
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

  /// An event that nobody uses, recorded on `stream`.
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
  /// A stream that waits for it already keeps what it stood for.
  void give_back(GpuEvent event) { free_.push_back(event); }

 private:
  CudaApi& cuda_;
  std::vector<GpuEvent> all_;
  std::vector<GpuEvent> free_;
};

}  // namespace plumbline
