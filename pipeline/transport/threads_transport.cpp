// SPDX-License-Identifier: BSD-3-Clause
#include "pipeline/transport/threads_transport.hpp"

#include "pipeline/transport/message_transport.hpp"
#include "pipeline/transport/staged_payloads.hpp"
#include "pipeline/transport/threads_link.hpp"
#include "pipeline/transport/transport_settings.hpp"

namespace plumbline {

std::vector<std::unique_ptr<Transport>> make_threads_transports(int world_size, TransportSettings settings,
                                                                at::Device device) {
  std::vector<std::unique_ptr<Transport>> transports;
  for (std::unique_ptr<Link>& link : make_threads_links(world_size)) {
    auto payloads = make_staged_payloads(*link, device);
    transports.push_back(std::make_unique<MessageTransport>(std::move(link), settings, std::move(payloads)));
  }
  return transports;
}

}  // namespace plumbline
