// SPDX-License-Identifier: BSD-3-Clause
// Implements the NCCL transport's CUDA interface with the CUDA runtime.
#pragma once

#include "pipeline/transport/nccl/gpu_api.hpp"

namespace plumbline {

class CudaRuntime final : public CudaApi {
 public:
  GpuStream compute_stream() override;
  GpuStream create_stream() override;
  void destroy(GpuStream stream) noexcept override;
  std::shared_ptr<void> allocate_with(GpuStream stream) override;
  GpuEvent create_event() override;
  void destroy(GpuEvent event) noexcept override;
  void record(GpuEvent event, GpuStream stream) override;
  bool reached(GpuEvent event) override;
  void wait(GpuStream stream, GpuEvent event) override;
};

}  // namespace plumbline
