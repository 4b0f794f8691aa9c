// SPDX-License-Identifier: BSD-3-Clause
// What both trainers ask of the CUDA half of this build: the GPUs themselves, the allocator's bytes, profiler ranges.
// Behind it stands the module that is loaded when --device cuda asks for it, or in tests a made-up machine.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "training/gpu/gpu_timer.hpp"

namespace plumbline {

/// Versions as their libraries count: CUDA 13000 is 13.0, NCCL 22809 is 2.28.9.
struct GpuVersions {
  int driver = 0;           ///< the newest CUDA that the driver can run; 0: there is no driver
  int runtime = 0;          ///< the CUDA runtime that is loaded
  int nccl = 0;             ///< the libnccl that is loaded
  int nccl_built_with = 0;  ///< the header this build was compiled with
};

struct GpuDevice {
  std::string name;
  std::string uuid;    ///< the same on every rank that sees this very GPU
  int capability = 0;  ///< 90 is 9.0
  std::int64_t total_bytes = 0;
};

/// Of one device and this process. `requested`: what tensors asked for; `reserved`: what the caching allocator took of
/// the GPU. Peaks are since reset_peaks.
struct GpuAllocatorBytes {
  std::int64_t requested_peak = 0;
  std::int64_t reserved_peak = 0;
  std::int64_t reserved = 0;  ///< now
};

/// cudaMemGetInfo: all processes' use, the context and NCCL's buffers included.
struct GpuFreeMemory {
  std::int64_t free_bytes = 0;
  std::int64_t total_bytes = 0;
};

class GpuSupport {
 public:
  /// `address` until it is freed; called on the thread that allocates or frees, while the allocator's lock is held.
  using Allocated = std::function<void(const void* address, std::int64_t bytes)>;
  using Freed = std::function<void(const void* address)>;

  virtual ~GpuSupport() = default;

  /// Works without a driver.
  virtual GpuVersions versions() = 0;
  /// GPUs that this process may use; where none, `why` gets the CUDA runtime's own words. Never throws.
  virtual int device_count(std::string& why) = 0;
  /// Throws RunError with CUDA's words when the device cannot be asked.
  virtual GpuDevice device(int index) = 0;
  /// The calling thread's device from now on.
  virtual void use(int index) = 0;
  /// Waits until all work put on the calling thread's stream has ended.
  virtual void synchronise() = 0;
  virtual std::unique_ptr<GpuTimer> make_timer() = 0;

  virtual GpuFreeMemory free_memory(int index) = 0;
  virtual GpuAllocatorBytes allocator_bytes(int index) = 0;
  virtual void reset_peaks(int index) = 0;
  /// Both are called for every tensor storage from now on. Once a process.
  virtual void watch(Allocated allocated, Freed freed) = 0;
  /// What cuBLAS and cuBLASLt keep for the calling thread and its stream is taken now, and not by the first product
  /// that happens to need it.
  virtual void take_workspaces() = 0;
  /// Those of all threads: none may compute meanwhile.
  virtual void release_workspaces() = 0;

  /// A named range on the profiler's time line (NVTX); they may overlap. Nothing without a profiler.
  virtual std::uint64_t begin_range(const char* name) = 0;
  virtual void end_range(std::uint64_t range) = 0;
};

}  // namespace plumbline
