// SPDX-License-Identifier: BSD-3-Clause
// Parallel jobs, counted in rounds: all runs of a round end together.
#include "harness/sweep/slots.hpp"

#include <gmock/gmock.h>

#include <chrono>
#include <future>
#include <memory>
#include <utility>

#include "harness/sweep/parallel_jobs.hpp"
#include "support/error.hpp"
#include "tests/temporary_folder.hpp"

namespace plumbline::testing {
namespace {

using ::testing::ElementsAre;

/// The parallel runs of each round.
std::vector<std::vector<std::size_t>> rounds_of(const std::vector<std::int64_t>& ranks, std::int64_t count) {
  Slots slots(count);
  for (std::size_t run = 0; run < ranks.size(); ++run) slots.add(run, ranks[run]);
  std::vector<std::vector<std::size_t>> rounds;
  for (;;) {
    std::vector<std::size_t> round;
    while (const auto begun = slots.next()) round.push_back(begun->run);
    if (round.empty()) return rounds;
    for (const auto run : round) slots.ended(run);
    rounds.push_back(round);
  }
}

TEST(Slots, SixteenRunsOfTwoRanksOnFourSlotsTakeEightRounds) {
  EXPECT_EQ(rounds_of(std::vector<std::int64_t>(16, 2), 4).size(), 8U);
  EXPECT_EQ(rounds_of(std::vector<std::int64_t>(16, 2), 1).size(), 16U);
  EXPECT_EQ(rounds_of(std::vector<std::int64_t>(16, 2), 3).size(), 16U);
  EXPECT_EQ(rounds_of(std::vector<std::int64_t>(16, 1), 4).size(), 4U);
}

TEST(Slots, ASmallRunGoesAheadOfOneForWhichThereIsNoRoom) {
  EXPECT_THAT(rounds_of({3, 2, 1, 4}, 4), ElementsAre(ElementsAre(0, 2), ElementsAre(1), ElementsAre(3)));
}

TEST(Slots, ARunOfMoreRanksThanSlotsTakesThemAll) {
  EXPECT_THAT(rounds_of({1, 8, 1}, 4), ElementsAre(ElementsAre(0, 2), ElementsAre(1)));
}

TEST(Slots, EachRunHasSlotsOfItsOwn) {
  Slots slots(4);
  for (std::size_t run = 0; run < 3; ++run) slots.add(run, 2);

  EXPECT_THAT(slots.next()->slots, ElementsAre(0, 1));
  EXPECT_THAT(slots.next()->slots, ElementsAre(2, 3));
  EXPECT_FALSE(slots.next());
  slots.ended(0);
  EXPECT_THAT(slots.next()->slots, ElementsAre(0, 1));
}

TEST(ParallelJobs, WhatOneThrowsEndsAllButThoseUnderWay) {
  std::vector<std::string> said;
  const auto run = [&](const std::string& name, bool throws) {
    return SlottedRun{1, [&said, name] { said.push_back("before " + name); },
                      [throws](const std::vector<std::int64_t>&) {
                        if (throws) throw SystemError("the disk is full");
                      },
                      [&said, name] { said.push_back("after " + name); }};
  };
  const std::vector<SlottedRun> runs = {run("one", false), run("two", true), run("three", false)};

  EXPECT_EQ(error_of<SystemError>([&] { run_parallel_jobs(runs, 1, [] {}); }), "the disk is full");

  EXPECT_THAT(said, ElementsAre("before one", "after one", "before two"));
}

TEST(ParallelJobs, TheFirstThingThrownIsToldAndARunThatMayNotBeginDoesNot) {
  bool ran = false;
  const std::vector<SlottedRun> runs = {
      {1, [] {}, [](const std::vector<std::int64_t>&) { throw SystemError("the first"); }, [] {}},
      {1, [] { throw SystemError("a stop was asked for"); }, [&](const std::vector<std::int64_t>&) { ran = true; },
       [] {}}};

  EXPECT_EQ(error_of<SystemError>([&] { run_parallel_jobs(runs, 1, [] {}); }), "the first");
  EXPECT_EQ(error_of<SystemError>([&] { run_parallel_jobs(runs, 2, [] {}); }), "a stop was asked for");
  EXPECT_FALSE(ran);
}

TEST(ParallelJobs, EachIsGivenSlotsOfItsOwn) {
  std::vector<std::vector<std::int64_t>> given(2);
  std::vector<SlottedRun> runs;
  for (std::size_t i = 0; i < 2; ++i) {
    runs.push_back({2, [] {}, [&given, i](const std::vector<std::int64_t>& slots) { given[i] = slots; }, [] {}});
  }

  run_parallel_jobs(runs, 4, [] {});

  EXPECT_THAT(given, ElementsAre(ElementsAre(0, 1), ElementsAre(2, 3)));
}

/// Whether a tick came while it ran; waits long for one, in a thread of its own.
SlottedRun waits_for_tick(std::future<void> tick, bool& seen) {
  const auto shared = std::make_shared<std::future<void>>(std::move(tick));
  return {1, [] {},
          [shared, &seen](const std::vector<std::int64_t>&) {
            seen = shared->wait_for(std::chrono::seconds(10)) == std::future_status::ready;
          },
          [] {}};
}

TEST(ParallelJobs, TicksComeWhileRunsAreUnderWay) {
  std::promise<void> ticked;
  bool seen = false;

  run_parallel_jobs({waits_for_tick(ticked.get_future(), seen)}, 1, [&, first = true]() mutable {
    if (std::exchange(first, false)) ticked.set_value();
  });

  EXPECT_TRUE(seen);
}

// Otherwise a stop would not be noticed while waiting.
TEST(ParallelJobs, TicksComeAfterAFailureToo) {
  std::promise<void> ticked;
  bool seen = false;
  const std::vector<SlottedRun> runs = {
      waits_for_tick(ticked.get_future(), seen),
      {1, [] { throw SystemError("the disk is full"); }, [](const std::vector<std::int64_t>&) {}, [] {}}};

  error_of<SystemError>([&] {
    run_parallel_jobs(runs, 2, [&, first = true]() mutable {
      if (std::exchange(first, false)) ticked.set_value();
    });
  });

  EXPECT_TRUE(seen);
}

}  // namespace
}  // namespace plumbline::testing
