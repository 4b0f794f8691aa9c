// SPDX-License-Identifier: BSD-3-Clause
#include "training/microbatch.hpp"

#include <stdexcept>
#include <utility>

#include "record/digest.hpp"
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

std::string data_digest(const Microbatch& data) {
  const at::Tensor ids = data.ids.contiguous(), labels = data.labels.contiguous();
  return data_digest(ids.size(0), ids.size(1), ids.const_data_ptr<std::int64_t>(),
                     labels.const_data_ptr<std::int64_t>());
}

void DataDigests::add(std::int64_t microbatch, const Microbatch& data) {
  std::string& known = digests_.at(static_cast<std::size_t>(microbatch));
  std::string digest = data_digest(data);
  if (!known.empty() && known != digest)
    throw std::logic_error("microbatch " + std::to_string(microbatch) + " was fed twice, with different data");
  known = std::move(digest);
}

}  // namespace plumbline
