#include "pipeline/transport/nccl/nccl_transport.hpp"

#include <algorithm>
#include <set>
#include <utility>

#include "pipeline/transport/message_transport.hpp"

namespace plumbline {

std::unique_ptr<Transport> make_nccl_transport(std::unique_ptr<Link> link, GpuApi gpu, TransportSettings settings,
                                               NcclSettings nccl) {
  auto payloads = std::make_unique<NcclPayloads>(gpu, link->rank(), nccl);
  return std::make_unique<MessageTransport>(std::move(link), settings, std::move(payloads));
}

std::vector<RankPair> pairs_of(const Placement& placement, bool tied) {
  std::set<RankPair> pairs;
  const auto add = [&](int one, int other) {
    if (one != other) pairs.insert(std::minmax(one, other));
  };
  for (std::int32_t stage = 0; stage + 1 < placement.stages(); ++stage) {
    add(placement.rank_of(stage), placement.rank_of(stage + 1));
  }
  if (tied) add(placement.rank_of(0), placement.rank_of(placement.stages() - 1));
  std::vector<RankPair> ordered(pairs.begin(), pairs.end());
  std::ranges::stable_partition(ordered, [](const RankPair& pair) { return pair.first % 2 == 0; });
  return ordered;
}

}  // namespace plumbline
