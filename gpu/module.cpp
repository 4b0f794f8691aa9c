// SPDX-License-Identifier: BSD-3-Clause
// The module's entries: all that a program knows of it by name.
#include "gpu/cuda_api.hpp"
#include "gpu/nccl_api.hpp"
#include "gpu/support.hpp"

namespace {

template <typename Kind>
Kind& the_one() {
  static Kind one;  // holds nothing
  return one;
}

}  // namespace

extern "C" {

plumbline::GpuSupport* plumbline_gpu_support() {
  return &the_one<plumbline::CudaSupport>();
}

/// For pipeline/transport/nccl: they live as long as the process.
plumbline::CudaApi* plumbline_cuda_api() {
  return &the_one<plumbline::CudaRuntime>();
}

plumbline::NcclApi* plumbline_nccl_api() {
  return &the_one<plumbline::NcclLibrary>();
}
}
