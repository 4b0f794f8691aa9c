// SPDX-License-Identifier: BSD-3-Clause
// Implements GpuSupport with the CUDA runtime, LibTorch's caching allocator and NVTX.
#pragma once

#include "training/gpu/gpu_support.hpp"

namespace plumbline {

class CudaSupport final : public GpuSupport {
 public:
  GpuVersions versions() override;
  int device_count(std::string& why) override;
  GpuDevice device(int index) override;
  void use(int index) override;
  void synchronize() override;
  std::unique_ptr<GpuTimer> make_timer() override;
  GpuFreeMemory free_memory(int index) override;
  GpuAllocatorBytes allocator_bytes(int index) override;
  void reset_peaks(int index) override;
  void watch(Allocated allocated, Freed freed) override;
  void allocate_workspaces() override;
  void release_workspaces() override;
  std::uint64_t begin_range(const char* name) override;
  void end_range(std::uint64_t range) override;
};

}  // namespace plumbline
