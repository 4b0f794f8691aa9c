// SPDX-License-Identifier: BSD-3-Clause
#include "training/microbatch.hpp"

#include "training/memory_meter.hpp"

namespace plumbline {

Microbatch to_device(Microbatch microbatch, at::Device device) {
  const MemoryScope scope(MemoryOwner::data);
  for (at::Tensor* tensor : {&microbatch.ids, &microbatch.labels}) {
    if (device.is_cuda()) *tensor = tensor->pin_memory();  // from other memory the host waits for the copy
    *tensor = tensor->to(device, /*non_blocking=*/true);
  }
  return microbatch;
}

}  // namespace plumbline
