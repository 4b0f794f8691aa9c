// SPDX-License-Identifier: BSD-3-Clause
#include "training/data_digests.hpp"

#include <stdexcept>
#include <utility>

#include "record/digest.hpp"

namespace plumbline {

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
