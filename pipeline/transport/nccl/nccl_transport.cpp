// SPDX-License-Identifier: BSD-3-Clause
#include "pipeline/transport/nccl/nccl_transport.hpp"

#include <utility>

#include "pipeline/transport/message_transport.hpp"
#include "pipeline/transport/transport_settings.hpp"

namespace plumbline {

std::unique_ptr<Transport> make_nccl_transport(std::unique_ptr<Link> link, GpuApi gpu, TransportSettings settings,
                                               NcclSettings nccl) {
  auto payloads = std::make_unique<NcclPayloads>(gpu, link->rank(), nccl);
  return std::make_unique<MessageTransport>(std::move(link), settings, std::move(payloads));
}

}  // namespace plumbline
