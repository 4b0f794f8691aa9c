// SPDX-License-Identifier: BSD-3-Clause
// Messages arrive in the order sent on each edge and direction, over several edges at once.
#pragma once

#include <ATen/ops/equal.h>

#include <string>
#include <thread>
#include <vector>

#include "pipeline/transport/transport.hpp"
#include "schedule/direction.hpp"
#include "tests/pipeline/transport/suite/fixture.hpp"

namespace plumbline {

TYPED_TEST_P(TransportSuite, Ring) {
  this->run([](Transport& t) {
    const int next = (t.rank() + 1) % t.size();
    const int previous = (t.rank() + t.size() - 1) % t.size();

    auto ids = post(t, {send_to(t, next, 5, content(t.rank(), 5, {2, 3, 4})), receive_from(t, previous, 5, {2, 3, 4})});
    ASSERT_EQ(ids.size(), 2U);
    const at::Tensor got = ids[1]->wait();
    t.wait_for_sends();

    EXPECT_TRUE(at::equal(got, content(previous, 5, {2, 3, 4})));
    EXPECT_TRUE(ids[0]->test());
    EXPECT_FALSE(ids[0]->wait().defined());
  });
}

// With two ranks the previous and the next rank are the same, which could mix up the two directions' shapes.
TYPED_TEST_P(TransportSuite, BothDirectionsAtOnceWithTheSamePeer) {
  this->run([](Transport& t) {
    if (t.rank() > 1) return;
    const int peer = 1 - t.rank();
    constexpr auto back = Direction::backward;

    auto ids = post(t, {
                           send_to(t, peer, 1, content(t.rank(), 1, {2, 7, 4})),
                           receive_from(t, peer, 1, {2, 7, 4}),
                           receive_from(t, peer, 0, {1, 3, 4}, back),
                           send_to(t, peer, 0, content(t.rank(), 0, {1, 3, 4}, back), back),
                       });
    const at::Tensor gradient = ids[2]->wait();
    const at::Tensor activation = ids[1]->wait();
    t.wait_for_sends();

    EXPECT_TRUE(at::equal(gradient, content(peer, 0, {1, 3, 4}, back)));
    EXPECT_TRUE(at::equal(activation, content(peer, 1, {2, 7, 4})));
  });
}

TYPED_TEST_P(TransportSuite, WaitsForABatchInReverse) {
  this->run([](Transport& t) {
    constexpr int many = 60;
    std::vector<Message> batch;
    for (int m = 0; m < many; ++m) {
      const at::DimVector shape = {1, 1 + (m * 7) % 31, 4};
      if (t.rank() == 0) batch.push_back(send_to(t, 1, m, content(0, m, shape)));
      if (t.rank() == 1) batch.push_back(receive_from(t, 0, m, shape));
    }
    auto ids = post(t, std::move(batch));
    if (t.rank() == 1) {
      ASSERT_EQ(ids.size(), static_cast<std::size_t>(many));
      for (int m = many; m-- > 0;) {
        EXPECT_TRUE(at::equal(ids[static_cast<std::size_t>(m)]->wait(), content(0, m, {1, 1 + (m * 7) % 31, 4})));
      }
    }
    t.wait_for_sends();
  });
}

TYPED_TEST_P(TransportSuite, LargePayloadsBothWays) {
  this->run([](Transport& t) {
    if (t.rank() > 1) return;
    const int peer = 1 - t.rank();
    const at::DimVector shape = {8, 512, 512};  // 8 MiB, far above any internal buffer
    std::vector<Pending> receives;
    for (int m = 0; m < 3; ++m) {
      auto ids = post(t, {send_to(t, peer, m, content(t.rank(), m, shape)), receive_from(t, peer, m, shape)});
      receives.push_back(std::move(ids[1]));
    }
    for (int m = 0; m < 3; ++m) {
      EXPECT_TRUE(at::equal(receives[static_cast<std::size_t>(m)]->wait(), content(peer, m, shape)));
    }
    t.wait_for_sends();
  });
}

TYPED_TEST_P(TransportSuite, TrafficIsCountedByPeerDirectionAndSide) {
  this->run([](Transport& t) {
    constexpr auto back = Direction::backward;
    if (t.rank() == 0) {
      auto ids = post(t, {send_to(t, 1, 0, content(0, 0, {2, 3, 4})), send_to(t, 1, 1, content(0, 1, {1, 1, 4})),
                          receive_from(t, 1, 0, {2, 3, 4}, back)});
      ids[2]->wait();
    }
    if (t.rank() == 1) {
      auto ids = post(t, {receive_from(t, 0, 0, {2, 3, 4}), receive_from(t, 0, 1, {1, 1, 4}),
                          send_to(t, 0, 0, content(1, 0, {2, 3, 4}, back), back)});
      ids[0]->wait();
      ids[1]->wait();
    }
    t.wait_for_sends();

    std::vector<std::string> counts;
    for (const TrafficCount& c : t.collect_traffic()) {
      counts.push_back(std::to_string(c.peer) + (c.direction == back ? " backward" : " forward") +
                       (c.send ? " send " : " receive ") + std::to_string(c.operations) + " " +
                       std::to_string(c.bytes));
    }
    if (t.rank() == 0) {
      EXPECT_THAT(counts, ElementsAre("1 forward send 2 112", "1 backward receive 1 96"));
    }
    if (t.rank() == 1) {
      EXPECT_THAT(counts, ElementsAre("0 forward receive 2 112", "0 backward send 1 96"));
    }
    if (t.rank() > 1) {
      EXPECT_TRUE(counts.empty());
    }
    EXPECT_TRUE(t.collect_traffic().empty());
  });
}

// The same edge for many steps, with jitter, to provoke rare interleavings.
TYPED_TEST_P(TransportSuite, ManyRoundsWithJitter) {
  this->run([](Transport& t) {
    const int next = (t.rank() + 1) % t.size();
    const int previous = (t.rank() + t.size() - 1) % t.size();
    for (int round = 0; round < 150; ++round) {
      const at::DimVector shape = {1, 1 + (round * 13) % 29, 4};
      const int m = round % 40;
      if ((round * 7 + t.rank() * 3) % 11 == 0) std::this_thread::sleep_for(std::chrono::microseconds(200));
      auto ids = post(t, {receive_from(t, previous, m, shape), send_to(t, next, m, content(t.rank(), m, shape))});
      ASSERT_TRUE(at::equal(ids[0]->wait(), content(previous, m, shape))) << "round " << round;
    }
    t.wait_for_sends();
  });
}

}  // namespace plumbline
