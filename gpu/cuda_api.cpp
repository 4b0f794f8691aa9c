// SPDX-License-Identifier: BSD-3-Clause
// Implements the NCCL transport's CUDA interface with the CUDA runtime.
#include <c10/cuda/CUDAFunctions.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>
#include <cuda_runtime_api.h>

#include "gpu/check.hpp"
#include "pipeline/transport/nccl/gpu_api.hpp"

namespace plumbline {
namespace {

cudaStream_t real(GpuStream stream) {
  return reinterpret_cast<cudaStream_t>(static_cast<std::uintptr_t>(stream));
}

cudaEvent_t real(GpuEvent event) {
  return reinterpret_cast<cudaEvent_t>(static_cast<std::uintptr_t>(event));
}

/// cudaErrorNotReady means that the event has pending work; it is not an error.
bool ended(cudaError_t code, const char* call) {
  if (code == cudaErrorNotReady) {
    static_cast<void>(cudaGetLastError());
    return false;
  }
  check_cuda(code, call);
  return true;
}

class CudaRuntime final : public CudaApi {
 public:
  GpuStream compute_stream() override {
    // The default stream's handle is null, which this interface uses for "none"; cudaStreamLegacy denotes the same
    // stream.
    cudaStream_t stream = c10::cuda::getCurrentCUDAStream().stream();
    if (stream == nullptr) stream = cudaStreamLegacy;
    return GpuStream{reinterpret_cast<std::uintptr_t>(stream)};
  }

  GpuStream create_stream() override {
    int least = 0, greatest = 0;
    check_cuda(cudaDeviceGetStreamPriorityRange(&least, &greatest), "cudaDeviceGetStreamPriorityRange");
    cudaStream_t stream = nullptr;
    check_cuda(cudaStreamCreateWithPriority(&stream, cudaStreamNonBlocking, greatest), "cudaStreamCreateWithPriority");
    return GpuStream{reinterpret_cast<std::uintptr_t>(stream)};
  }

  void destroy(GpuStream stream) noexcept override {
    static_cast<void>(cudaStreamDestroy(real(stream)));
    static_cast<void>(cudaGetLastError());
  }

  std::shared_ptr<void> allocate_with(GpuStream stream) override {
    return std::make_shared<c10::cuda::CUDAStreamGuard>(
        c10::cuda::getStreamFromExternal(real(stream), c10::cuda::current_device()));
  }

  GpuEvent create_event() override {
    cudaEvent_t event = nullptr;
    check_cuda(cudaEventCreateWithFlags(&event, cudaEventDisableTiming), "cudaEventCreateWithFlags");
    return GpuEvent{reinterpret_cast<std::uintptr_t>(event)};
  }

  void destroy(GpuEvent event) noexcept override {
    static_cast<void>(cudaEventDestroy(real(event)));
    static_cast<void>(cudaGetLastError());
  }

  void record(GpuEvent event, GpuStream stream) override {
    check_cuda(cudaEventRecord(real(event), real(stream)), "cudaEventRecord");
  }

  bool reached(GpuEvent event) override { return ended(cudaEventQuery(real(event)), "cudaEventQuery"); }

  void wait(GpuStream stream, GpuEvent event) override {
    check_cuda(cudaStreamWaitEvent(real(stream), real(event), 0), "cudaStreamWaitEvent");
  }
};

}  // namespace
}  // namespace plumbline

extern "C" plumbline::CudaApi* plumbline_cuda_api() {
  static plumbline::CudaRuntime one;  // lives until the process ends
  return &one;
}
