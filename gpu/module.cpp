// SPDX-License-Identifier: BSD-3-Clause
// The entry points of the module, looked up by name.
#include "gpu/cuda_api.hpp"
#include "gpu/nccl_api.hpp"
#include "gpu/support.hpp"

namespace {

template <typename Kind>
Kind& the_one() {
  static Kind one;  // stateless
  return one;
}

}  // namespace

extern "C" {

plumbline::GpuSupport* plumbline_gpu_support() {
  return &the_one<plumbline::CudaSupport>();
}

/// Used by pipeline/transport/nccl; live until the process ends.
plumbline::CudaApi* plumbline_cuda_api() {
  return &the_one<plumbline::CudaRuntime>();
}

plumbline::NcclApi* plumbline_nccl_api() {
  return &the_one<plumbline::NcclLibrary>();
}
}
