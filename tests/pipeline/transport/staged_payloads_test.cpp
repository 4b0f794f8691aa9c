// SPDX-License-Identifier: BSD-3-Clause
// Payloads through host memory, over threads' links: the whole transport suite. CPU tensors stand for GPU tensors; they
// are copied all the same.
#include "pipeline/transport/staged_payloads.hpp"

#include <ATen/ops/full.h>

#include "pipeline/transport/message_transport.hpp"
#include "pipeline/transport/threads_link.hpp"
#include "pipeline/transport/transport_settings.hpp"
#include "schedule/direction.hpp"
#include "tests/pipeline/transport/transport_suite.hpp"

namespace plumbline {
namespace {

template <int ranks>
struct StagedRanks {
  static int world_size() { return ranks; }
  static void run(TransportSettings settings, Ending ending, const Body& body) {
    std::vector<std::unique_ptr<Transport>> transports;
    for (auto& link : make_threads_links(ranks)) {
      auto payloads = std::make_unique<StagedPayloads>(*link, at::kCPU);
      transports.push_back(std::make_unique<MessageTransport>(std::move(link), settings, std::move(payloads)));
    }
    run_on_threads(transports, ending, body);
  }
};
using StagedWorlds = ::testing::Types<StagedRanks<2>, StagedRanks<4>>;
INSTANTIATE_TYPED_TEST_SUITE_P(Staged, TransportSuite, StagedWorlds);

TEST(StagedPayloads, AreCopiedWhenSent) {
  auto links = make_threads_links(2);
  StagedPayloads here(*links[0], at::kCPU), there(*links[1], at::kCPU);
  at::Tensor payload = at::full({4}, 1.0F), buffer = at::full({4}, 9.0F);
  const auto sent = here.send(1, Direction::forward, payload);
  payload.fill_(2.0);
  const auto received = there.receive(0, Direction::forward);
  there.supply(received, buffer);

  while (!there.test(received)) {
  }

  EXPECT_TRUE(at::equal(buffer, at::full({4}, 1.0F)));
  EXPECT_TRUE(here.test(sent).has_value());
}

TEST(StagedPayloads, AreNotUsedOnTheCpu) {
  auto links = make_threads_links(1);

  EXPECT_EQ(make_staged_payloads(*links[0], at::kCPU), nullptr);
}

}  // namespace
}  // namespace plumbline
