// SPDX-License-Identifier: BSD-3-Clause
#include "training/microbatch.hpp"

#include "training/memory_meter.hpp"

namespace plumbline {

Microbatch to_device(Microbatch microbatch, at::Device device) {
  const MemoryScope scope(MemoryOwner::data);
  microbatch.ids = microbatch.ids.to(device, /*non_blocking=*/true);
  microbatch.labels = microbatch.labels.to(device, /*non_blocking=*/true);
  return microbatch;
}

}  // namespace plumbline
