// SPDX-License-Identifier: BSD-3-Clause
#include "gpu/support.hpp"

#include <ATen/Context.h>
#include <ATen/cuda/CUDAContextLight.h>
#include <c10/cuda/CUDACachingAllocator.h>
#include <c10/cuda/CUDAStream.h>
#include <cuda_runtime_api.h>
#include <nccl.h>
#include <nvtx3/nvToolsExt.h>

#include <array>
#include <cstdio>
#include <utility>

#include "gpu/check.hpp"
#include "gpu/timer.hpp"

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

}  // namespace

GpuVersions CudaSupport::versions() {
  GpuVersions versions;
  // Without a driver this call succeeds and returns 0.
  if (cudaDriverGetVersion(&versions.driver) != cudaSuccess) versions.driver = 0;
  check_cuda(cudaRuntimeGetVersion(&versions.runtime), "cudaRuntimeGetVersion");
  check_nccl(ncclGetVersion(&versions.nccl), "ncclGetVersion");
  versions.nccl_built_with = NCCL_VERSION_CODE;
  return versions;
}

int CudaSupport::device_count(std::string& why) {
  int count = 0;
  const cudaError_t code = cudaGetDeviceCount(&count);
  static_cast<void>(cudaGetLastError());
  if (code == cudaSuccess) return count;
  why = std::string(cudaGetErrorString(code)) + " (" + cudaGetErrorName(code) + ")";
  return 0;
}

GpuDevice CudaSupport::device(int index) {
  cudaDeviceProp properties{};
  check_cuda(cudaGetDeviceProperties(&properties, index), "cudaGetDeviceProperties");
  return {properties.name, uuid_text(properties.uuid), 10 * properties.major + properties.minor,
          static_cast<std::int64_t>(properties.totalGlobalMem)};
}

void CudaSupport::use(int index) {
  check_cuda(cudaSetDevice(index), "cudaSetDevice");
  at::globalContext().lazyInitDevice(c10::kCUDA);  // the allocator exists only after this
}

void CudaSupport::synchronize() {
  check_cuda(cudaStreamSynchronize(c10::cuda::getCurrentCUDAStream().stream()), "cudaStreamSynchronize");
}

std::unique_ptr<GpuTimer> CudaSupport::make_timer() {
  return std::make_unique<CudaTimer>();
}

GpuFreeMemory CudaSupport::free_memory(int index) {
  int before = 0;
  check_cuda(cudaGetDevice(&before), "cudaGetDevice");
  check_cuda(cudaSetDevice(index), "cudaSetDevice");
  std::size_t free = 0, total = 0;
  const cudaError_t code = cudaMemGetInfo(&free, &total);
  check_cuda(cudaSetDevice(before), "cudaSetDevice");
  check_cuda(code, "cudaMemGetInfo");
  return {static_cast<std::int64_t>(free), static_cast<std::int64_t>(total)};
}

GpuAllocatorBytes CudaSupport::allocator_bytes(int index) {
  const auto stats = c10::cuda::CUDACachingAllocator::getDeviceStats(narrow(index));
  const auto all = static_cast<std::size_t>(c10::CachingAllocator::StatType::AGGREGATE);
  return {stats.requested_bytes[all].peak, stats.reserved_bytes[all].peak, stats.reserved_bytes[all].current};
}

void CudaSupport::reset_peaks(int index) {
  c10::cuda::CUDACachingAllocator::resetPeakStats(narrow(index));
}

void CudaSupport::watch(Allocated allocated, Freed freed) {
  c10::cuda::CUDACachingAllocator::attachAllocatorTraceTracker(
      [allocated = std::move(allocated), freed = std::move(freed)](const TraceEntry& entry) {
        // An ALLOC entry carries the requested size, not the rounded one.
        const auto* address = reinterpret_cast<const void*>(entry.addr_);
        if (entry.action_ == TraceEntry::ALLOC) allocated(address, static_cast<std::int64_t>(entry.size_));
        if (entry.action_ == TraceEntry::FREE_REQUESTED) freed(address);
      });
}

void CudaSupport::allocate_workspaces() {
  // Both workspaces are cached by handle and stream. Getting the handle allocates cuBLAS's workspace; cuBLASLt has its
  // own unless TORCH_CUBLASLT_UNIFIED_WORKSPACE is set.
  static_cast<void>(at::cuda::getCurrentCUDABlasHandle());
  static_cast<void>(at::cuda::getCUDABlasLtWorkspace());
}

void CudaSupport::release_workspaces() {
  at::cuda::clearCublasWorkspaces();
}

std::uint64_t CudaSupport::begin_range(const char* name) {
  return nvtxRangeStartA(name);
}

void CudaSupport::end_range(std::uint64_t range) {
  nvtxRangeEnd(range);
}

}  // namespace plumbline
