// SPDX-License-Identifier: BSD-3-Clause
// Implements the NCCL transport's NCCL interface with libnccl.
#include <cuda_runtime_api.h>
#include <nccl.h>

#include <cstring>
#include <mutex>
#include <set>
#include <stdexcept>

#include "gpu/check.hpp"
#include "pipeline/transport/nccl/gpu_api.hpp"

namespace plumbline {
namespace {

ncclComm_t real(NcclCommunicator communicator) {
  return reinterpret_cast<ncclComm_t>(static_cast<std::uintptr_t>(communicator));
}

cudaStream_t real(GpuStream stream) {
  return reinterpret_cast<cudaStream_t>(static_cast<std::uintptr_t>(stream));
}

ncclDataType_t real(NcclType type) {
  switch (type) {
    case NcclType::int8:
      return ncclInt8;
    case NcclType::uint8:
      return ncclUint8;
    case NcclType::int32:
      return ncclInt32;
    case NcclType::int64:
      return ncclInt64;
    case NcclType::float16:
      return ncclFloat16;
    case NcclType::float32:
      return ncclFloat32;
    case NcclType::float64:
      return ncclFloat64;
    case NcclType::bfloat16:
      return ncclBfloat16;
  }
  throw std::logic_error("no such NcclType");
}

/// The string lives until the process ends: NCCL keeps the pointer and starts up on a thread of its own.
const char* kept_name(const std::string& name) {
  static std::mutex& lock = *new std::mutex;
  static std::set<std::string>& names = *new std::set<std::string>;
  const std::lock_guard guard(lock);
  return names.insert(name).first->c_str();
}

class NcclLibrary final : public NcclApi {
 public:
  int version() override {
    int version = 0;
    check_nccl(ncclGetVersion(&version), "ncclGetVersion");
    return version;
  }

  std::string unique_id() override {
    ncclUniqueId id;
    check_nccl(ncclGetUniqueId(&id), "ncclGetUniqueId");
    return {id.internal, sizeof id.internal};
  }

  NcclCommunicator init_rank(const std::string& bytes, int ranks, int rank, const NcclConfig& wanted) override {
    ncclUniqueId id;
    if (bytes.size() != sizeof id.internal) {
      throw GpuError("ncclCommInitRankConfig",
                     "an id of " + std::to_string(bytes.size()) + " bytes, not " + std::to_string(sizeof id.internal));
    }
    std::memcpy(id.internal, bytes.data(), sizeof id.internal);
    ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
    config.blocking = 0;
    if (!wanted.name.empty()) config.commName = kept_name(wanted.name);
    if (wanted.max_ctas > 0) config.maxCTAs = wanted.max_ctas;
    ncclComm_t communicator = nullptr;
    const ncclResult_t result = ncclCommInitRankConfig(&communicator, ranks, id, rank, &config);
    try {
      check_nccl(result, "ncclCommInitRankConfig", communicator);
    } catch (const GpuError&) {
      if (communicator != nullptr) static_cast<void>(ncclCommAbort(communicator));
      throw;
    }
    return NcclCommunicator{reinterpret_cast<std::uintptr_t>(communicator)};
  }

  NcclState state(NcclCommunicator communicator) override {
    ncclResult_t result = ncclSuccess;
    check_nccl(ncclCommGetAsyncError(real(communicator), &result), "ncclCommGetAsyncError", real(communicator));
    if (result == ncclSuccess) return {NcclProgress::done, {}};
    if (result == ncclInProgress) return {NcclProgress::busy, {}};
    std::string text = ncclGetErrorString(result);
    const char* last = ncclGetLastError(real(communicator));
    if (last != nullptr && *last != '\0') text += std::string(" (") + last + ")";
    return {NcclProgress::failed, text};
  }

  void group_start() override { check_nccl(ncclGroupStart(), "ncclGroupStart"); }

  NcclProgress group_end() override {
    const ncclResult_t result = ncclGroupEnd();
    check_nccl(result, "ncclGroupEnd");
    return result == ncclInProgress ? NcclProgress::busy : NcclProgress::done;
  }

  void send(const void* data, std::size_t count, NcclType type, int peer, NcclCommunicator communicator,
            GpuStream stream) override {
    check_nccl(ncclSend(data, count, real(type), peer, real(communicator), real(stream)), "ncclSend",
               real(communicator));
  }

  void receive(void* data, std::size_t count, NcclType type, int peer, NcclCommunicator communicator,
               GpuStream stream) override {
    check_nccl(ncclRecv(data, count, real(type), peer, real(communicator), real(stream)), "ncclRecv",
               real(communicator));
  }

  void finalize(NcclCommunicator communicator) override {
    check_nccl(ncclCommFinalize(real(communicator)), "ncclCommFinalize", real(communicator));
  }

  void destroy(NcclCommunicator communicator) noexcept override {
    static_cast<void>(ncclCommDestroy(real(communicator)));
  }

  void abort(NcclCommunicator communicator) noexcept override { static_cast<void>(ncclCommAbort(real(communicator))); }
};

}  // namespace
}  // namespace plumbline

extern "C" plumbline::NcclApi* plumbline_nccl_api() {
  static plumbline::NcclLibrary one;  // lives until the process ends
  return &one;
}
