// SPDX-License-Identifier: BSD-3-Clause
// The CUDA and NCCL calls that the NCCL transport makes, and no others. Behind them stand the real libraries, or in
// tests a strict model of them, so that start-up, order, time-outs and abort are tested without a GPU.
//
// For whoever implements it:
// * One object of each class belongs to one rank and is used by one thread, whose device was chosen before.
// * No call waits for the device or for another rank. Communicators are made non-blocking (ncclConfig_t::blocking = 0),
//   so ncclInProgress is an answer, not an error: it is what `busy` stands for. The caller polls `state` under its own
//   deadline.
// * An error is thrown as GpuError with the call's name and the library's own text. cudaErrorNotReady and
//   ncclInProgress are no errors. The calls that clean up (noexcept) swallow what the library says: they run where
//   something has failed already.
// * Nothing is kept after an error: what an init call could not make, it leaves nothing of.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "support/error.hpp"

namespace plumbline {

/// A CUDA or NCCL call failed: `call` in the library's spelling, then the library's own text.
class GpuError : public RunError {
 public:
  GpuError(std::string call, const std::string& text) : RunError(call + ": " + text), call_(std::move(call)) {}
  const std::string& call() const noexcept { return call_; }

 private:
  std::string call_;
};

// Opaque; `none` is what none of the calls returns. The real ones are pointers.
enum class GpuStream : std::uintptr_t { none = 0 };
enum class GpuEvent : std::uintptr_t { none = 0 };
enum class NcclCommunicator : std::uintptr_t { none = 0 };

class CudaApi {
 public:
  virtual ~CudaApi() = default;

  /// The stream that the calling thread's tensor operations run on: c10::cuda::getCurrentCUDAStream().stream().
  virtual GpuStream compute_stream() = 0;
  /// cudaStreamCreateWithPriority: cudaStreamNonBlocking, the highest priority, so that a message does not stand behind
  /// the compute kernels that wait for it.
  virtual GpuStream create_stream() = 0;
  /// cudaStreamDestroy, which does not wait for what is still on it.
  virtual void destroy(GpuStream stream) noexcept = 0;

  /// cudaEventCreateWithFlags: cudaEventDisableTiming
  virtual GpuEvent create_event() = 0;
  /// cudaEventDestroy
  virtual void destroy(GpuEvent event) noexcept = 0;
  /// cudaEventRecord: the event stands for all work that is on the stream now.
  virtual void record(GpuEvent event, GpuStream stream) = 0;
  /// cudaEventQuery: whether that work has ended. True for an event that was never recorded.
  virtual bool reached(GpuEvent event) = 0;
  /// cudaStreamWaitEvent: what is put on the stream from now on starts after the work that `event` stands for now.
  virtual void wait(GpuStream stream, GpuEvent event) = 0;
};

/// What travels; each is the ncclDataType_t of that name.
enum class NcclType : std::uint8_t { int8, uint8, int32, int64, float16, float32, float64, bfloat16 };

enum class NcclProgress : std::uint8_t { done, busy, failed };
/// Where a communicator stands. `text` is the library's, when failed.
struct NcclState {
  NcclProgress progress = NcclProgress::done;
  std::string text;
};

/// Fields of ncclConfig_t; the rest stays as NCCL_CONFIG_INITIALIZER has it.
struct NcclConfig {
  std::string name;  ///< commName, where the version has it: shows in NCCL's own log
  int max_ctas = 0;  ///< maxCTAs: streaming multiprocessors that one message may hold while it waits; 0: NCCL's choice
};

class NcclApi {
 public:
  virtual ~NcclApi() = default;

  /// ncclGetVersion: 22809 is 2.28.9.
  virtual int version() = 0;
  /// ncclGetUniqueId: the bytes of the ncclUniqueId.
  virtual std::string unique_id() = 0;

  /// ncclCommInitRankConfig with blocking = 0. Returns at once; the communicator may be used once `state` says done.
  /// All `ranks` call it with the same id.
  virtual NcclCommunicator init_rank(const std::string& id, int ranks, int rank, const NcclConfig& config) = 0;
  /// ncclCommGetAsyncError; `text` from ncclGetErrorString and ncclGetLastError.
  virtual NcclState state(NcclCommunicator communicator) = 0;

  /// ncclGroupStart
  virtual void group_start() = 0;
  /// ncclGroupEnd. `busy` (ncclInProgress): the operations are not on their streams yet, and no event may be recorded
  /// behind them before `state` of their communicator says done. Throws when the library refused one of them.
  virtual NcclProgress group_end() = 0;
  /// ncclSend and ncclRecv of `count` elements, to and from `peer` (its rank in the communicator). Between group_start
  /// and group_end only. The memory must stay until an event recorded on `stream` behind the group is reached.
  virtual void send(const void* data, std::size_t count, NcclType type, int peer, NcclCommunicator communicator,
                    GpuStream stream) = 0;
  virtual void receive(void* data, std::size_t count, NcclType type, int peer, NcclCommunicator communicator,
                       GpuStream stream) = 0;

  /// ncclCommFinalize: all ranks of the communicator call it; over once `state` says done. Then `destroy`.
  virtual void finalize(NcclCommunicator communicator) = 0;
  /// ncclCommDestroy, of a communicator that was finalised: frees what this rank holds.
  virtual void destroy(NcclCommunicator communicator) noexcept = 0;
  /// ncclCommAbort: ends what is in flight and frees the communicator, in whatever state, without any other rank.
  virtual void abort(NcclCommunicator communicator) noexcept = 0;
};

/// One rank's half of both libraries.
struct GpuApi {
  CudaApi& cuda;
  NcclApi& nccl;
};

}  // namespace plumbline
