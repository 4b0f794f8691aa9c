#include "pipeline/transport/threads_transport.hpp"

#include "pipeline/transport/message_transport.hpp"
#include "pipeline/transport/threads_link.hpp"

namespace plumbline {

std::vector<std::unique_ptr<Transport>> make_threads_transports(int world_size, TransportSettings settings) {
  std::vector<std::unique_ptr<Transport>> transports;
  for (std::unique_ptr<Link>& link : make_threads_links(world_size)) {
    transports.push_back(std::make_unique<MessageTransport>(std::move(link), settings));
  }
  return transports;
}

}  // namespace plumbline
