// SPDX-License-Identifier: BSD-3-Clause
// Implements GpuSupport with the CUDA runtime, LibTorch's caching allocator and NVTX.
#include <ATen/Context.h>
#include <ATen/cuda/CUDAContextLight.h>
#include <c10/cuda/CUDACachingAllocator.h>
#include <c10/cuda/CUDAStream.h>
#include <cuda_runtime_api.h>
#include <nccl.h>
#include <nvtx3/nvToolsExt.h>

#include <array>
#include <cmath>
#include <cstdio>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "gpu/check.hpp"
#include "training/gpu/gpu_support.hpp"

namespace plumbline {
namespace {

using c10::CachingDeviceAllocator::TraceEntry;

std::string uuid_text(const cudaUUID_t& uuid) {
  std::string text = "GPU-";
  for (std::size_t i = 0; i < sizeof uuid.bytes; ++i) {
    std::array<char, 4> two{};
    std::snprintf(two.data(), two.size(), "%02x", static_cast<unsigned>(static_cast<unsigned char>(uuid.bytes[i])));
    if (i == 4 || i == 6 || i == 8 || i == 10) text += '-';
    text += two.data();
  }
  return text;
}

c10::DeviceIndex narrow(int index) {
  return static_cast<c10::DeviceIndex>(index);
}

/// Markers on a CUDA stream and their times (cudaEventElapsedTime).
class CudaTimer final : public GpuTimer {
 public:
  void mark() override {
    if (marked_ == events_.size()) {
      cudaEvent_t event = nullptr;
      check_cuda(cudaEventCreate(&event), "cudaEventCreate");
      events_.emplace_back(event);
    }
    check_cuda(cudaEventRecord(events_[marked_].get(), c10::cuda::getCurrentCUDAStream().stream()), "cudaEventRecord");
    ++marked_;
  }

  std::vector<std::int64_t> take() override {
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

 private:
  struct Destroy {
    void operator()(cudaEvent_t event) const noexcept { static_cast<void>(cudaEventDestroy(event)); }
  };

  std::vector<std::unique_ptr<CUevent_st, Destroy>> events_;  ///< reused in every step
  std::size_t marked_ = 0;
};

class CudaSupport final : public GpuSupport {
 public:
  GpuVersions versions() override {
    GpuVersions versions;
    // Without a driver this call succeeds and returns 0.
    if (cudaDriverGetVersion(&versions.driver) != cudaSuccess) versions.driver = 0;
    check_cuda(cudaRuntimeGetVersion(&versions.runtime), "cudaRuntimeGetVersion");
    check_nccl(ncclGetVersion(&versions.nccl), "ncclGetVersion");
    versions.nccl_built_with = NCCL_VERSION_CODE;
    return versions;
  }

  int device_count(std::string& why) override {
    int count = 0;
    const cudaError_t code = cudaGetDeviceCount(&count);
    static_cast<void>(cudaGetLastError());
    if (code == cudaSuccess) return count;
    why = std::string(cudaGetErrorString(code)) + " (" + cudaGetErrorName(code) + ")";
    return 0;
  }

  GpuDevice device(int index) override {
    cudaDeviceProp properties{};
    check_cuda(cudaGetDeviceProperties(&properties, index), "cudaGetDeviceProperties");
    return {properties.name, uuid_text(properties.uuid), 10 * properties.major + properties.minor,
            static_cast<std::int64_t>(properties.totalGlobalMem)};
  }

  void use(int index) override {
    check_cuda(cudaSetDevice(index), "cudaSetDevice");
    at::globalContext().lazyInitDevice(c10::kCUDA);  // the allocator exists only after this
  }

  void synchronize() override {
    check_cuda(cudaStreamSynchronize(c10::cuda::getCurrentCUDAStream().stream()), "cudaStreamSynchronize");
  }

  std::unique_ptr<GpuTimer> make_timer() override { return std::make_unique<CudaTimer>(); }

  GpuFreeMemory free_memory(int index) override {
    int before = 0;
    check_cuda(cudaGetDevice(&before), "cudaGetDevice");
    check_cuda(cudaSetDevice(index), "cudaSetDevice");
    std::size_t free = 0, total = 0;
    const cudaError_t code = cudaMemGetInfo(&free, &total);
    check_cuda(cudaSetDevice(before), "cudaSetDevice");
    check_cuda(code, "cudaMemGetInfo");
    return {static_cast<std::int64_t>(free), static_cast<std::int64_t>(total)};
  }

  GpuAllocatorBytes allocator_bytes(int index) override {
    const auto stats = c10::cuda::CUDACachingAllocator::getDeviceStats(narrow(index));
    const auto all = static_cast<std::size_t>(c10::CachingAllocator::StatType::AGGREGATE);
    return {stats.requested_bytes[all].peak, stats.reserved_bytes[all].peak, stats.reserved_bytes[all].current};
  }

  void reset_peaks(int index) override { c10::cuda::CUDACachingAllocator::resetPeakStats(narrow(index)); }

  void watch(Allocated allocated, Freed freed) override {
    c10::cuda::CUDACachingAllocator::attachAllocatorTraceTracker(
        [allocated = std::move(allocated), freed = std::move(freed)](const TraceEntry& entry) {
          // An ALLOC entry carries the requested size, not the rounded one.
          const auto* address = reinterpret_cast<const void*>(entry.addr_);
          if (entry.action_ == TraceEntry::ALLOC) allocated(address, static_cast<std::int64_t>(entry.size_));
          if (entry.action_ == TraceEntry::FREE_REQUESTED) freed(address);
        });
  }

  void allocate_workspaces() override {
    // Both workspaces are cached by handle and stream. Getting the handle allocates cuBLAS's workspace; cuBLASLt has
    // its own unless TORCH_CUBLASLT_UNIFIED_WORKSPACE is set.
    static_cast<void>(at::cuda::getCurrentCUDABlasHandle());
    static_cast<void>(at::cuda::getCUDABlasLtWorkspace());
  }

  void release_workspaces() override { at::cuda::clearCublasWorkspaces(); }

  std::uint64_t begin_range(const char* name) override { return nvtxRangeStartA(name); }

  void end_range(std::uint64_t range) override { nvtxRangeEnd(range); }
};

}  // namespace
}  // namespace plumbline

extern "C" plumbline::GpuSupport* plumbline_gpu_support() {
  static plumbline::CudaSupport one;  // lives until the process ends
  return &one;
}
