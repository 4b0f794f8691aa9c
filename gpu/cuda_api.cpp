// SPDX-License-Identifier: BSD-3-Clause
#include "gpu/cuda_api.hpp"

#include <c10/cuda/CUDAFunctions.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>
#include <cuda_runtime_api.h>

#include "gpu/check.hpp"

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

}  // namespace

GpuStream CudaRuntime::compute_stream() {
  // The default stream's handle is null, which this interface uses for "none"; cudaStreamLegacy denotes the same
  // stream.
  cudaStream_t stream = c10::cuda::getCurrentCUDAStream().stream();
  if (stream == nullptr) stream = cudaStreamLegacy;
  return GpuStream{reinterpret_cast<std::uintptr_t>(stream)};
}

GpuStream CudaRuntime::create_stream() {
  int least = 0, greatest = 0;
  check_cuda(cudaDeviceGetStreamPriorityRange(&least, &greatest), "cudaDeviceGetStreamPriorityRange");
  cudaStream_t stream = nullptr;
  check_cuda(cudaStreamCreateWithPriority(&stream, cudaStreamNonBlocking, greatest), "cudaStreamCreateWithPriority");
  return GpuStream{reinterpret_cast<std::uintptr_t>(stream)};
}

void CudaRuntime::destroy(GpuStream stream) noexcept {
  static_cast<void>(cudaStreamDestroy(real(stream)));
  static_cast<void>(cudaGetLastError());
}

std::shared_ptr<void> CudaRuntime::allocate_with(GpuStream stream) {
  return std::make_shared<c10::cuda::CUDAStreamGuard>(
      c10::cuda::getStreamFromExternal(real(stream), c10::cuda::current_device()));
}

GpuEvent CudaRuntime::create_event() {
  cudaEvent_t event = nullptr;
  check_cuda(cudaEventCreateWithFlags(&event, cudaEventDisableTiming), "cudaEventCreateWithFlags");
  return GpuEvent{reinterpret_cast<std::uintptr_t>(event)};
}

void CudaRuntime::destroy(GpuEvent event) noexcept {
  static_cast<void>(cudaEventDestroy(real(event)));
  static_cast<void>(cudaGetLastError());
}

void CudaRuntime::record(GpuEvent event, GpuStream stream) {
  check_cuda(cudaEventRecord(real(event), real(stream)), "cudaEventRecord");
}

bool CudaRuntime::reached(GpuEvent event) {
  return ended(cudaEventQuery(real(event)), "cudaEventQuery");
}

void CudaRuntime::wait(GpuStream stream, GpuEvent event) {
  check_cuda(cudaStreamWaitEvent(real(stream), real(event), 0), "cudaStreamWaitEvent");
}

}  // namespace plumbline
