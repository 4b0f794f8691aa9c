// SPDX-License-Identifier: BSD-3-Clause
// The trainers' interface to the CUDA module: GPUs, allocator bytes, profiler ranges. Tests implement it with a fake
// machine.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "training/gpu/gpu_timer.hpp"

namespace plumbline {

/// Versions as the libraries encode them: CUDA 13000 is 13.0, NCCL 22809 is 2.28.9.
struct GpuVersions {
  int driver = 0;           ///< newest CUDA that the driver supports; 0: no driver
  int runtime = 0;          ///< of the loaded CUDA runtime
  int nccl = 0;             ///< of the loaded libnccl
  int nccl_built_with = 0;  ///< of the header this build was compiled with
};

struct GpuDevice {
  std::string name;
  std::string uuid;    ///< the same on every rank that sees this GPU
  int capability = 0;  ///< 90 is 9.0
  std::int64_t total_bytes = 0;
};

/// Of one device and this process. `requested`: bytes that tensors requested; `reserved`: bytes that the caching
/// allocator took from the GPU. Peaks are since reset_peaks.
struct GpuAllocatorBytes {
  std::int64_t requested_peak = 0;
  std::int64_t reserved_peak = 0;
  std::int64_t reserved = 0;  ///< now
};

/// cudaMemGetInfo: includes all processes, the context and NCCL's buffers.
struct GpuFreeMemory {
  std::int64_t free_bytes = 0;
  std::int64_t total_bytes = 0;
};

class GpuSupport {
 public:
  /// Called with an address on the thread that allocates or frees it, while the allocator's lock is held.
  using Allocated = std::function<void(const void* address, std::int64_t bytes)>;
  using Freed = std::function<void(const void* address)>;

  virtual ~GpuSupport() = default;

  /// Works without a driver.
  virtual GpuVersions versions() = 0;
  /// GPUs that this process may use; if none, `why` gets the CUDA runtime's text. Never throws.
  virtual int device_count(std::string& why) = 0;
  /// Throws RunError with CUDA's text if the device cannot be queried.
  virtual GpuDevice device(int index) = 0;
  /// Sets the calling thread's device. The first call initializes LibTorch's CUDA part.
  virtual void use(int index) = 0;
  /// Blocks until all work on the calling thread's stream has completed.
  virtual void synchronize() = 0;
  virtual std::unique_ptr<GpuTimer> make_timer() = 0;

  virtual GpuFreeMemory free_memory(int index) = 0;
  virtual GpuAllocatorBytes allocator_bytes(int index) = 0;
  virtual void reset_peaks(int index) = 0;
  /// Called for every tensor storage from now on. Call once per process.
  virtual void watch(Allocated allocated, Freed freed) = 0;
  /// Allocates the workspaces of cuBLAS and cuBLASLt for the calling thread and its stream now, instead of at the first
  /// product that needs them.
  virtual void allocate_workspaces() = 0;
  /// Frees those of all threads, none of which may compute meanwhile.
  virtual void release_workspaces() = 0;

  /// A named range on the profiler's timeline (NVTX); ranges may overlap. Does nothing without a profiler.
  virtual std::uint64_t begin_range(const char* name) = 0;
  virtual void end_range(std::uint64_t range) = 0;
};

}  // namespace plumbline
