// SPDX-License-Identifier: BSD-3-Clause
#include "pipeline/transport/wait_notes.hpp"

#include <gmock/gmock.h>

#include <thread>

#include "pipeline/transport/threads_transport.hpp"

namespace plumbline::testing {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;

TEST(WaitNotes, ASilentRankIsNotPartOfACycle) {
  const auto endpoints = make_threads_endpoints(2);
  WaitNotes own(*endpoints[0]), others(*endpoints[1]);
  others.announce(0, "RECV_B microbatch 1 from rank 0");
  own.poll();
  std::vector<std::int64_t> chain;

  EXPECT_EQ(own.describe_chain(1, 1h, chain),
            "; rank 1 waits for RECV_B microbatch 1 from rank 0: they wait for each other");
  EXPECT_THAT(chain, ElementsAre(1, 0));

  std::this_thread::sleep_for(2ms);
  EXPECT_EQ(own.describe_chain(1, 1ms, chain),
            "; rank 1 has reported nothing for 0 s; before, it waited for RECV_B microbatch 1 from rank 0");
  EXPECT_THAT(chain, ElementsAre(1));
}

}  // namespace
}  // namespace plumbline::testing
