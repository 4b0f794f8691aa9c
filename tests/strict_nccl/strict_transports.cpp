// SPDX-License-Identifier: BSD-3-Clause
#include "tests/strict_nccl/strict_transports.hpp"

#include <utility>

#include "pipeline/transport/group.hpp"
#include "pipeline/transport/message_transport.hpp"
#include "pipeline/transport/threads_transport.hpp"
#include "pipeline/transport/transport.hpp"

namespace plumbline::strict {

std::vector<std::unique_ptr<Transport>> make_strict_transports(StrictWorld& world, int ranks,
                                                               TransportSettings settings, NcclSettings nccl,
                                                               const GpuSeam& seam) {
  auto endpoints = make_threads_endpoints(ranks);
  std::vector<std::unique_ptr<Transport>> transports;
  for (int rank = 0; rank < ranks; ++rank) {
    const GpuApi gpu = seam ? seam(rank, world.gpu(rank)) : world.gpu(rank);
    transports.push_back(std::make_unique<MessageTransport>(std::move(endpoints[static_cast<std::size_t>(rank)]),
                                                            settings, std::nullopt,
                                                            std::make_unique<NcclPayloads>(gpu, rank, nccl)));
  }
  return transports;
}

std::vector<ConnectedRanks> ring_pairs(int ranks) {
  return connections_of({ranks, 2, PlacementKind::loop}, /*tied=*/true);
}

}  // namespace plumbline::strict
