#include "pipeline/clock_alignment.hpp"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

#include "pipeline/transport/threads_transport.hpp"
#include "pipeline/transport/transport_settings.hpp"
#include "training/action_log.hpp"

namespace plumbline {
namespace {

std::vector<AlignedClock> clocks_of_three(bool one_host) {
  const auto transports = make_threads_transports(3, {});
  std::vector<AlignedClock> clocks(3);
  {
    std::vector<std::jthread> ranks;
    for (std::size_t rank = 0; rank < 3; ++rank) {
      ranks.emplace_back([&, rank] {
        clocks[rank] = align_clocks(*transports[rank], one_host);
        transports[rank]->finish();
      });
    }
  }
  return clocks;
}

TEST(ClockAlignment, OneClockIsNotSetApart) {
  const std::int64_t before = monotonic_ns();
  for (const AlignedClock& clock : clocks_of_three(true)) {
    EXPECT_EQ(clock.skew, 0);
    EXPECT_GE(clock.origin, before);
    EXPECT_LE(clock.origin, monotonic_ns());
  }
}

// They read one clock here too, which nobody told them: the difference is found within what is said to be left.
TEST(ClockAlignment, OnSeveralMachinesTheDifferenceLeftIsTold) {
  const std::vector<AlignedClock> clocks = clocks_of_three(false);
  EXPECT_GT(clocks[0].skew, 0);
  for (const AlignedClock& clock : clocks) {
    EXPECT_EQ(clock.skew, clocks[0].skew);
    EXPECT_LE(std::abs(clock.origin - clocks[0].origin), clock.skew);
  }
}

}  // namespace
}  // namespace plumbline
