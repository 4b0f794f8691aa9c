// SPDX-License-Identifier: BSD-3-Clause
#include "training/gpu/prepare_device.hpp"

#include <ATen/ops/addmm.h>
#include <ATen/ops/bmm.h>
#include <ATen/ops/mm.h>
#include <ATen/ops/zeros.h>
#include <c10/util/Exception.h>

#include <mutex>

#include "support/error.hpp"
#include "training/environment.hpp"
#include "training/gpu/gpu_support.hpp"
#include "training/memory_meter.hpp"
#include "training/run.hpp"

namespace plumbline {

namespace {

void watch_once(GpuSupport& gpu) {
  static std::once_flag watched;
  std::call_once(watched, [&] { gpu.watch(count_device_allocation, count_device_free); });
}

/// Allocates what libraries keep from their first use on; fails if there are no kernels for this GPU.
void warm_up(GpuSupport& gpu, c10::Device device, c10::ScalarType dtype) {
  const MemoryScope scope(MemoryOwner::other);
  gpu.allocate_workspaces();
  const auto options = at::TensorOptions(dtype).device(device);
  const at::Tensor matrix = at::zeros({16, 16}, options);
  at::mm(matrix, matrix);
  at::addmm(at::zeros({16}, options), matrix, matrix);
  at::bmm(matrix.unsqueeze(0), matrix.unsqueeze(0));
}

}  // namespace

GpuDevice start_gpu(c10::Device device, c10::ScalarType dtype, bool watched) {
  GpuSupport& gpu = load_gpu_module();
  gpu.use(device.index());
  if (watched) watch_once(gpu);
  this_thread_meter().count_devices_alone();
  choose_attention_kernel(device, dtype);
  const GpuDevice found = gpu.device(device.index());
  try {
    warm_up(gpu, device, dtype);
    gpu.synchronize();
  } catch (const c10::OutOfMemoryError&) {
    throw;  // its message already contains the plan
  } catch (const c10::Error& error) {
    throw SystemError("GPU " + std::to_string(device.index()) + " (" + found.name + ", compute capability " +
                      std::to_string(found.capability / 10) + "." + std::to_string(found.capability % 10) +
                      ") cannot be used by this LibTorch: " + error.what_without_backtrace());
  }
  return found;
}

void explain_out_of_memory(const std::string& plan, const std::function<void()>& body) {
  try {
    body();
  } catch (const c10::OutOfMemoryError& error) {
    std::string words = error.what_without_backtrace();
    words = words.substr(0, words.find(" If reserved but unallocated"));  // advice on a setting of Python's allocator
    throw RunError("out of GPU memory: " + words + " (" + plan +
                   "). Use more ranks, smaller microbatches, or a schedule that keeps fewer of them in flight");
  }
}

void use_first_gpu(Run& run) {
  if (run.device.is_cpu()) return;
  run.device = at::Device(at::kCUDA, 0);
  run.gpus = {load_gpu_module().device(0).name};
}

void prepare_device(const Run& run, const MemoryPlan& need, const std::string& owner) {
  if (run.device.is_cpu()) return;
  GpuDevice device;
  explain_out_of_memory("the plan for " + owner + " is " + to_text(need),
                        [&] { device = start_gpu(run.device, computed_type(run.train), run.recorded()); });
  const GpuFreeMemory memory = load_gpu_module().free_memory(run.device.index());
  check_fits(need, memory.free_bytes, memory.total_bytes,
             owner + ", GPU " + std::to_string(run.device.index()) + " (" + device.name + ")");
}

}  // namespace plumbline
