// SPDX-License-Identifier: BSD-3-Clause
#include "gpu/check.hpp"

#include <string>

#include "pipeline/transport/nccl/gpu_api.hpp"

namespace plumbline {

void check_cuda(cudaError_t code, const char* call) {
  if (code == cudaSuccess) return;
  static_cast<void>(cudaGetLastError());
  throw GpuError(call, std::string(cudaGetErrorString(code)) + " (" + cudaGetErrorName(code) + ")");
}

void check_nccl(ncclResult_t code, const char* call, ncclComm_t communicator) {
  if (code == ncclSuccess || code == ncclInProgress) return;
  std::string text = ncclGetErrorString(code);
  const char* last = ncclGetLastError(communicator);
  if (last != nullptr && *last != '\0') text += std::string(" (") + last + ")";
  throw GpuError(call, text);
}

}  // namespace plumbline
