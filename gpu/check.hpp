// SPDX-License-Identifier: BSD-3-Clause
// Converts CUDA and NCCL return codes to exceptions.
#pragma once

#include <cuda_runtime_api.h>
#include <nccl.h>

namespace plumbline {

/// Throws GpuError with CUDA's error name and text unless `code` is cudaSuccess. Clears the error, so that the next
/// call on this thread does not report it again.
void check_cuda(cudaError_t code, const char* call);

/// Throws GpuError with NCCL's error text unless `code` is ncclSuccess or ncclInProgress.
void check_nccl(ncclResult_t code, const char* call, ncclComm_t communicator = nullptr);

}  // namespace plumbline
