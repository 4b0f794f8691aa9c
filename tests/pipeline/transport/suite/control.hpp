// SPDX-License-Identifier: BSD-3-Clause
// The control plane: gather, broadcast, barrier, tensors outside the schedule.
#pragma once

#include <ATen/ops/equal.h>
#include <ATen/ops/zeros.h>

#include <string>
#include <thread>
#include <vector>

#include "tests/pipeline/transport/suite/fixture.hpp"

namespace plumbline {

TYPED_TEST_P(TransportSuite, GatherBroadcastBarrier) {
  this->run([](Transport& t) {
    for (int round = 0; round < 20; ++round) {
      const std::string own(static_cast<std::size_t>(round * t.rank()), static_cast<char>('a' + t.rank()));
      const std::vector<std::string> all = t.gather(own);
      if (t.rank() == 0) {
        ASSERT_EQ(all.size(), static_cast<std::size_t>(t.size()));
        for (int r = 0; r < t.size(); ++r) {
          EXPECT_EQ(all[static_cast<std::size_t>(r)],
                    std::string(static_cast<std::size_t>(round * r), static_cast<char>('a' + r)));
        }
      } else {
        EXPECT_TRUE(all.empty());
      }
      const std::string said = std::string("round\0", 6) + std::to_string(round);
      EXPECT_EQ(t.broadcast(t.rank() == 0 ? said : "not this"), said);
      EXPECT_EQ(t.broadcast(""), "");
      t.barrier();
    }
    EXPECT_TRUE(t.collect_traffic().empty());
  });
}

TYPED_TEST_P(TransportSuite, GatherReportsTheAwaitedRanks) {
  this->run([](Transport& t) {
    std::vector<int> shown, expected;
    t.set_wait_callback([&](int peer) { shown.push_back(peer); });
    t.gather("");
    t.set_wait_callback({});
    t.barrier();
    for (int peer = 1; t.rank() == 0 && peer < t.size(); ++peer) expected.insert(expected.end(), {peer, -1});
    if (t.rank() != 0) expected = {0, -1};  // to receive what it sends
    EXPECT_EQ(shown, expected);
  });
}

TYPED_TEST_P(TransportSuite, BarrierWaitsForAllRanks) {
  this->run([](Transport& t) {
    // All processes of a machine share the clock.
    const auto now = [] { return std::to_string(std::chrono::steady_clock::now().time_since_epoch().count()); };
    if (t.rank() == t.size() - 1) std::this_thread::sleep_for(60ms);
    const std::string came = now();
    t.barrier();
    const std::string left = now();
    const std::vector<std::string> all_came = t.gather(came), all_left = t.gather(left);
    if (t.rank() != 0) return;
    for (const std::string& one : all_left) EXPECT_GE(std::stoll(one), std::stoll(all_came.back()));
  });
}

TYPED_TEST_P(TransportSuite, TiedGradientsTravelInBothDirections) {
  this->run([](Transport& t) {
    const int last = t.size() - 1;
    at::Tensor gradient = content(t.rank(), 0, {50, 16});
    const MessageHeader to_first = tied_gradient_header(3, 7, false, gradient);
    const MessageHeader to_last = tied_gradient_header(3, 7, true, gradient);
    if (t.rank() == last) {
      t.send(0, to_first, gradient)->wait();
      t.receive(0, to_last, gradient)->wait();
    }
    if (t.rank() == 0) {
      gradient.add_(t.receive(last, to_first)->wait());
      t.send(last, to_last, gradient)->wait();
    }
    if (t.rank() == 0 || t.rank() == last) {
      EXPECT_TRUE(at::equal(gradient, content(0, 0, {50, 16}).add_(content(last, 0, {50, 16}))));
    }
    EXPECT_TRUE(t.collect_traffic().empty());
  });
}

TYPED_TEST_P(TransportSuite, RefusesTiedGradientsOfUnequalShapes) {
  this->run_broken(short_of_patience, [](Transport& t) {
    const at::Tensor gradient = content(1, 0, {50, 16});
    if (t.rank() == 1) {
      EXPECT_THROW(t.send(0, tied_gradient_header(0, 1, false, gradient), gradient)->wait(), RunError);
    }
    if (t.rank() == 0) {
      EXPECT_THAT(thrown_by<RunError>([&] { t.receive(1, tied_gradient_header(0, 1, false, gradient.t()))->wait(); }),
                  AllOf(HasSubstr("rank 0 expected tied gradient of step 0, stage 1 -> 0, 16x50 float32"),
                        HasSubstr("rank 1 sent tied gradient of step 0, stage 1 -> 0, 50x16 float32")));
    }
  });
}

TYPED_TEST_P(TransportSuite, NamesMismatchedControlCalls) {
  this->run_broken(short_of_patience, [](Transport& t) {
    if (t.rank() == 0) {
      EXPECT_THAT(thrown_by<RunError>([&] { t.gather(""); }),
                  AllOf(HasSubstr("rank 0 expected gather"), HasSubstr("from rank 1, which sent barrier")));
    } else {
      EXPECT_THROW(t.barrier(), RunError);
    }
  });
}

}  // namespace plumbline
