// SPDX-License-Identifier: BSD-3-Clause
// The CUDA and NCCL calls of the NCCL transport. Implemented by the real libraries, and in tests by a strict model of
// them, so that start-up, order, timeouts and abort are tested without a GPU.
//
// For implementers:
// * One object of each class belongs to one rank and is used by one thread, whose device is already set.
// * No call blocks on the device or on another rank. Communicators are non-blocking (ncclConfig_t::blocking = 0), so
// ncclInProgress is not an error and is returned as `busy`. The caller polls `state` under its own deadline.
// * An error is thrown as GpuError with the call's name and the library's text. cudaErrorNotReady and ncclInProgress
// are not errors. Clean-up calls (noexcept) ignore errors: they run after a failure.
// * A failed init call must not leave anything allocated.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "support/error.hpp"

namespace plumbline {

/// A failed CUDA or NCCL call: the library's name for it and the library's error text.
class GpuError : public RunError {
 public:
  GpuError(std::string call, const std::string& text) : RunError(call + ": " + text), call_(std::move(call)) {}
  const std::string& call() const noexcept { return call_; }

 private:
  std::string call_;
};

// Opaque handles; no call returns `none`. The real ones are pointers.
enum class GpuStream : std::uintptr_t { none = 0 };
enum class GpuEvent : std::uintptr_t { none = 0 };
enum class NcclCommunicator : std::uintptr_t { none = 0 };

class CudaApi {
 public:
  virtual ~CudaApi() = default;

  /// The stream of the calling thread's tensor operations: c10::cuda::getCurrentCUDAStream().stream().
  virtual GpuStream compute_stream() = 0;
  /// cudaStreamCreateWithPriority with cudaStreamNonBlocking and the highest priority, so that a message is not queued
  /// behind the compute kernels that wait for it.
  virtual GpuStream create_stream() = 0;
  /// cudaStreamDestroy, which does not wait for pending work.
  virtual void destroy(GpuStream stream) noexcept = 0;
  /// While the result lives, the calling thread allocates tensors in memory that only tensors allocated with the same
  /// stream reuse (c10::cuda::CUDAStreamGuard). Nothing may be queued meanwhile.
  virtual std::shared_ptr<void> allocate_with(GpuStream stream) = 0;

  /// cudaEventCreateWithFlags: cudaEventDisableTiming
  virtual GpuEvent create_event() = 0;
  /// cudaEventDestroy
  virtual void destroy(GpuEvent event) noexcept = 0;
  /// cudaEventRecord: captures all work queued on the stream so far.
  virtual void record(GpuEvent event, GpuStream stream) = 0;
  /// cudaEventQuery: whether that work has completed. True for an event that was never recorded.
  virtual bool reached(GpuEvent event) = 0;
  /// cudaStreamWaitEvent: later work on the stream starts after the work captured by `event`.
  virtual void wait(GpuStream stream, GpuEvent event) = 0;
};

/// Element types; each is the ncclDataType_t of that name.
enum class NcclType : std::uint8_t { int8, uint8, int32, int64, float16, float32, float64, bfloat16 };

enum class NcclProgress : std::uint8_t { done, busy, failed };
/// The state of a communicator. `text` is NCCL's error text if it failed.
struct NcclState {
  NcclProgress progress = NcclProgress::done;
  std::string text;
};

/// Fields of ncclConfig_t; the others keep NCCL_CONFIG_INITIALIZER's values.
struct NcclConfig {
  std::string name;  ///< commName, if the version has it: appears in NCCL's log
  int max_ctas = 0;  ///< maxCTAs: streaming multiprocessors that a message may occupy while it waits; 0: NCCL's default
};

class NcclApi {
 public:
  virtual ~NcclApi() = default;

  /// ncclGetVersion: 22809 is 2.28.9.
  virtual int version() = 0;
  /// ncclGetUniqueId: the bytes of the ncclUniqueId.
  virtual std::string unique_id() = 0;

  /// ncclCommInitRankConfig with blocking = 0. Returns immediately; the communicator is usable once `state` returns
  /// done. All `ranks` call it with the same id.
  virtual NcclCommunicator init_rank(const std::string& id, int ranks, int rank, const NcclConfig& config) = 0;
  /// ncclCommGetAsyncError, with the text of ncclGetErrorString and ncclGetLastError.
  virtual NcclState state(NcclCommunicator communicator) = 0;

  /// ncclGroupStart
  virtual void group_start() = 0;
  /// ncclGroupEnd. `busy` (ncclInProgress): the operations are not on their streams yet, so no event may be recorded
  /// after them until `state` of their communicator returns done. Throws if NCCL refused one of them.
  virtual NcclProgress group_end() = 0;
  /// ncclSend and ncclRecv of `count` elements to and from `peer` (its rank in the communicator), between group_start
  /// and group_end only. The memory must stay valid until an event recorded on `stream` after the group is reached.
  virtual void send(const void* data, std::size_t count, NcclType type, int peer, NcclCommunicator communicator,
                    GpuStream stream) = 0;
  virtual void receive(void* data, std::size_t count, NcclType type, int peer, NcclCommunicator communicator,
                       GpuStream stream) = 0;

  /// ncclCommFinalize, called by all ranks of the communicator; complete once `state` returns done. Then call
  /// `destroy`.
  virtual void finalize(NcclCommunicator communicator) = 0;
  /// ncclCommDestroy of a finalized communicator: frees this rank's resources.
  virtual void destroy(NcclCommunicator communicator) noexcept = 0;
  /// ncclCommAbort: cancels operations in flight and frees the communicator in any state, without other ranks.
  virtual void abort(NcclCommunicator communicator) noexcept = 0;
};

/// One rank's interface to both libraries.
struct GpuApi {
  CudaApi& cuda;
  NcclApi& nccl;
};

}  // namespace plumbline
