// SPDX-License-Identifier: BSD-3-Clause
#include "pipeline/clock_alignment.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <thread>
#include <vector>

#include "pipeline/transport/threads_transport.hpp"
#include "pipeline/transport/transport.hpp"
#include "tests/mutant/forwarding_transport.hpp"
#include "tests/pipeline/transport/ranks.hpp"
#include "training/action_log.hpp"

namespace plumbline {
namespace {

/// Offsets of the other ranks' clocks from rank 0's.
class ShiftedClocks : public mutant::ForwardingTransport {
 public:
  ShiftedClocks(Transport& inner, std::vector<std::int64_t> ahead)
      : ForwardingTransport(inner), ahead_(std::move(ahead)) {}

  std::vector<std::string> gather(const std::string& bytes) override {
    std::vector<std::string> all = inner_.gather(bytes);
    for (std::size_t rank = 0; rank < all.size(); ++rank) {
      all[rank] = std::to_string(std::stoll(all[rank]) + ahead_.at(rank));
    }
    return all;
  }

 private:
  std::vector<std::int64_t> ahead_;
};

/// The clocks of three ranks whose transports `around` wraps.
template <typename Around, typename... Given>
std::vector<AlignedClock> clocks_of_three(bool one_host, const Given&... given) {
  std::vector<AlignedClock> clocks(3);
  run_on_threads(make_threads_transports(3, {}), Ending::clean, [&](Transport& transport) {
    Around around(transport, given...);
    clocks[static_cast<std::size_t>(transport.rank())] = align_clocks(around, one_host);
  });
  return clocks;
}

using Ahead = std::vector<std::int64_t>;
constexpr std::int64_t hour = std::int64_t{3600} * 1000000000;

TEST(ClockAlignment, OneClockHasNoOffset) {
  const std::int64_t before = monotonic_ns();
  for (const AlignedClock& clock : clocks_of_three<ShiftedClocks>(true, Ahead{0, 0, 0})) {
    EXPECT_EQ(clock.skew, 0);
    EXPECT_GE(clock.origin, before);
    EXPECT_LE(clock.origin, monotonic_ns());
  }
}

// The ranks share one clock here, but do not know it: the measured difference is within the reported bound.
TEST(ClockAlignment, ReportsTheRemainingSkewOnSeveralMachines) {
  const std::vector<AlignedClock> clocks = clocks_of_three<ShiftedClocks>(false, Ahead{0, 0, 0});
  EXPECT_GT(clocks[0].skew, 0);
  for (const AlignedClock& clock : clocks) {
    EXPECT_EQ(clock.skew, clocks[0].skew);
    EXPECT_LE(std::abs(clock.origin - clocks[0].origin), clock.skew);
  }
}

// Containers on one machine may have separate clocks. Tests both directions, and each rank alone.
TEST(ClockAlignment, AlignsSeveralClocksOnOneMachine) {
  const Ahead ahead = {0, hour, -2 * hour};

  const std::vector<AlignedClock> clocks = clocks_of_three<ShiftedClocks>(true, ahead);

  EXPECT_GT(clocks[0].skew, 0);
  EXPECT_LT(clocks[0].skew, hour / 60) << "the exchange itself takes no longer";
  for (std::size_t rank = 0; rank < 3; ++rank) {
    EXPECT_LE(std::abs(clocks[rank].origin - clocks[0].origin - ahead[rank]), clocks[0].skew) << rank;
  }
}

/// One clock; rank 1 answers immediately, and rank 2 as late as possible.
class UnevenAnswers : public mutant::ForwardingTransport {
 public:
  using ForwardingTransport::ForwardingTransport;

  std::string broadcast(const std::string& bytes) override {
    asked_ = monotonic_ns();
    return inner_.broadcast(bytes);
  }
  std::vector<std::string> gather(const std::string& bytes) override {
    std::vector<std::string> all = inner_.gather(bytes);
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    if (all.size() == 3) all[1] = std::to_string(asked_), all[2] = std::to_string(monotonic_ns());
    return all;
  }

 private:
  std::int64_t asked_ = 0;
};

// Each clock is off by half of an exchange in its own direction, so together by a whole one.
TEST(ClockAlignment, SkewCoversTwoRanks) {
  const std::vector<AlignedClock> clocks = clocks_of_three<UnevenAnswers>(false);

  EXPECT_GT(std::abs(clocks[1].origin - clocks[2].origin), 4'000'000) << "they have one clock";
  EXPECT_LE(std::abs(clocks[1].origin - clocks[2].origin), clocks[0].skew);
}

TEST(ClockAlignment, OffsetsOnlyTheRankWithAnotherClock) {
  const std::vector<AlignedClock> clocks = clocks_of_three<ShiftedClocks>(true, Ahead{0, 0, hour});

  EXPECT_EQ(clocks[1].origin, clocks[0].origin);
  EXPECT_NE(clocks[2].origin, clocks[0].origin);
}

}  // namespace
}  // namespace plumbline
