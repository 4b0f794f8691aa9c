// SPDX-License-Identifier: BSD-3-Clause
// The whole transport suite between threads, with payloads through host memory. CPU tensors take the place of GPU
// tensors; they are copied too.
#include "pipeline/transport/message_transport.hpp"
#include "pipeline/transport/threads_transport.hpp"
#include "pipeline/transport/transport.hpp"
#include "tests/pipeline/transport/transport_suite.hpp"

namespace plumbline {
namespace {

template <int ranks>
struct StagedRanks {
  static int world_size() { return ranks; }
  static void run(TransportSettings settings, Ending ending, const Body& body) {
    std::vector<std::unique_ptr<Transport>> transports;
    for (auto& endpoint : make_threads_endpoints(ranks)) {
      transports.push_back(std::make_unique<MessageTransport>(std::move(endpoint), settings, at::kCPU));
    }
    run_on_threads(transports, ending, body);
  }
};
using StagedWorlds = ::testing::Types<StagedRanks<2>, StagedRanks<4>>;
INSTANTIATE_TYPED_TEST_SUITE_P(Staged, TransportSuite, StagedWorlds);

TEST(StagedTransport, CopiesAPayloadWhenItIsSent) {
  StagedRanks<2>::run(patient, Ending::clean, [](Transport& t) {
    if (t.rank() == 0) {
      const at::Tensor payload = content(0, 0, {2, 3});
      post(t, {send_to(t, 1, 0, payload)});
      payload.fill_(9);
      t.barrier();
    } else {
      t.barrier();
      EXPECT_TRUE(at::equal(post_one(t, receive_from(t, 0, 0, {2, 3}))->wait(), content(0, 0, {2, 3})));
    }
    t.wait_for_sends();
  });
}

}  // namespace
}  // namespace plumbline
