// SPDX-License-Identifier: BSD-3-Clause
// The trainers' interface to the CUDA part of this build: GPUs, allocator bytes, times, profiler ranges. Tests
// implement it with a fake machine. It is a module (plumbline-gpu.so next to the program) that only --device cuda
// loads, since it costs about 250 MB per process; a build without it has stubs for these functions.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace plumbline {

/// Used by one thread, for its current stream.
class GpuTimer {
 public:
  virtual ~GpuTimer() = default;

  /// Marks the end of all work queued on the stream so far.
  virtual void mark() = 0;
  /// Blocks until the stream is empty, and clears the marks since the last call. Returns for each, in order, the
  /// nanoseconds from reaching it to the end of all work. Throws RunError with CUDA's text.
  virtual std::vector<std::int64_t> take() = 0;
};

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

/// "13.0" for 13000, CUDA's encoding.
inline std::string cuda_version_text(int version) {
  return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}
/// "2.28.9" for 22809, NCCL's encoding.
inline std::string nccl_version_text(int version) {
  return std::to_string(version / 10000) + "." + std::to_string(version % 10000 / 100) + "." +
         std::to_string(version % 100);
}

/// Whether this build has the module. It may still be unusable on this machine.
bool has_gpu_module();

/// Loads the module on the first call, which must precede any call that makes LibTorch look for CUDA, because LibTorch
/// caches the answer. Throws InputError if the build has none, SystemError if it cannot be loaded.
GpuSupport& load_gpu_module();

/// The result of load_gpu_module; null before.
GpuSupport* loaded_gpu_support();

/// Another entry of the loaded module by its C name. Throws std::logic_error if there is none.
void* gpu_module_entry(const char* name);

}  // namespace plumbline
