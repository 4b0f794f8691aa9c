// SPDX-License-Identifier: BSD-3-Clause
#include "harness/sweep/parallel_jobs.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <future>
#include <memory>
#include <thread>
#include <utility>

#include "support/error.hpp"
#include "tests/harness/matchers.hpp"
#include "tests/temporary_folder.hpp"

namespace plumbline::testing {
namespace {

/// Runs of these ranks: in which order they started, the slots of each, and how many were under way at once.
struct Started {
  std::vector<std::size_t> order;
  std::vector<std::vector<std::int64_t>> slots;
  std::int64_t most = 0;
};

Started started(const std::vector<std::int64_t>& ranks, std::int64_t count) {
  Started all;
  all.slots.resize(ranks.size());
  std::atomic<std::int64_t> now = 0;
  std::vector<SlottedRun> runs;
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    runs.push_back({ranks[i],
                    [&, i] {
                      all.order.push_back(i);
                      all.most = std::max(all.most, ++now);
                    },
                    [&, i](const std::vector<std::int64_t>& slots) {
                      all.slots[i] = slots;
                      std::this_thread::sleep_for(std::chrono::milliseconds(2));
                      --now;
                    },
                    [] {}});
  }
  run_parallel_jobs(runs, count, [] {});
  return all;
}

TEST(ParallelJobs, TakeAsManySlotsAsTheyHaveRanks) {
  const std::vector<std::int64_t> sixteen_of_two(16, 2);
  EXPECT_EQ(started(sixteen_of_two, 4).most, 2);
  EXPECT_EQ(started(sixteen_of_two, 3).most, 1);
  EXPECT_EQ(started(sixteen_of_two, 1).most, 1);
  EXPECT_EQ(started(sixteen_of_two, 4).order.size(), 16U);
}

TEST(ParallelJobs, ASmallJobOvertakesOneThatDoesNotFit) {
  EXPECT_THAT(started({3, 2, 1, 4}, 4).order, ElementsAre(0, 2, 1, 3));
}

TEST(ParallelJobs, AJobWithMoreRanksThanSlotsTakesThemAll) {
  const Started all = started({1, 8, 1}, 4);

  EXPECT_THAT(all.order, ElementsAre(0, 2, 1));
  EXPECT_THAT(all.slots[1], ElementsAre(0, 1, 2, 3));
  EXPECT_THAT(started({2, 2}, 4).slots, ElementsAre(ElementsAre(0, 1), ElementsAre(2, 3))) << "each has its own";
}

TEST(ParallelJobs, AnExceptionStartsNoFurtherJobs) {
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

TEST(ParallelJobs, TheFirstExceptionIsReported) {
  bool ran = false;
  const std::vector<SlottedRun> runs = {
      {1, [] {}, [](const std::vector<std::int64_t>&) { throw SystemError("the first"); }, [] {}},
      {1, [] { throw SystemError("a stop was asked for"); }, [&](const std::vector<std::int64_t>&) { ran = true; },
       [] {}}};

  EXPECT_EQ(error_of<SystemError>([&] { run_parallel_jobs(runs, 1, [] {}); }), "the first");
  EXPECT_EQ(error_of<SystemError>([&] { run_parallel_jobs(runs, 2, [] {}); }), "a stop was asked for");
  EXPECT_FALSE(ran);
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
