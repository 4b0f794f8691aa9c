// SPDX-License-Identifier: BSD-3-Clause
// CUDA's and NCCL's return codes as exceptions.
#pragma once

#include <cuda_runtime_api.h>
#include <nccl.h>

namespace plumbline {

/// Throws GpuError with CUDA's name and words for it unless `code` is cudaSuccess. Clears it, so that the next call of
/// this thread does not report it again.
void check_cuda(cudaError_t code, const char* call);

/// Throws GpuError with NCCL's words unless `code` is ncclSuccess or ncclInProgress.
void check_nccl(ncclResult_t code, const char* call, ncclComm_t communicator = nullptr);

}  // namespace plumbline
