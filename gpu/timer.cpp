// SPDX-License-Identifier: BSD-3-Clause
#include "gpu/timer.hpp"

#include <c10/cuda/CUDAStream.h>

#include <cmath>

#include "gpu/check.hpp"

namespace plumbline {

void CudaTimer::mark() {
  if (marked_ == events_.size()) {
    cudaEvent_t event = nullptr;
    check_cuda(cudaEventCreate(&event), "cudaEventCreate");
    events_.emplace_back(event);
  }
  check_cuda(cudaEventRecord(events_[marked_].get(), c10::cuda::getCurrentCUDAStream().stream()), "cudaEventRecord");
  ++marked_;
}

std::vector<std::int64_t> CudaTimer::take() {
  mark();
  const auto end = events_[marked_ - 1].get();
  check_cuda(cudaEventSynchronize(end), "cudaEventSynchronize");
  std::vector<std::int64_t> before_end;
  for (std::size_t i = 0; i + 1 < marked_; ++i) {
    float milliseconds = 0;
    check_cuda(cudaEventElapsedTime(&milliseconds, events_[i].get(), end), "cudaEventElapsedTime");
    before_end.push_back(std::llround(static_cast<double>(milliseconds) * 1e6));
  }
  marked_ = 0;
  return before_end;
}

}  // namespace plumbline
