// SPDX-License-Identifier: BSD-3-Clause
// Markers on a CUDA stream and their times (cudaEventElapsedTime).
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <memory>
#include <vector>

#include "training/gpu/gpu_support.hpp"

namespace plumbline {

class CudaTimer final : public GpuTimer {
 public:
  void mark() override;
  std::vector<std::int64_t> take() override;

 private:
  struct Destroy {
    void operator()(cudaEvent_t event) const noexcept { static_cast<void>(cudaEventDestroy(event)); }
  };

  std::vector<std::unique_ptr<CUevent_st, Destroy>> events_;  ///< reused in every step
  std::size_t marked_ = 0;
};

}  // namespace plumbline
