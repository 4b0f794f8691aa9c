// SPDX-License-Identifier: BSD-3-Clause
// The transport suite over the strict libraries.
#include "pipeline/transport/transport.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <thread>

#include "tests/pipeline/transport/transport_suite.hpp"
#include "tests/strict_nccl/strict_transports.hpp"

namespace plumbline {
namespace {

enum class Timing { prompt, jittery };

/// One thread per rank. After a clean end there must be no findings and no objects left.
template <int ranks, Timing timing = Timing::prompt>
struct StrictRanks {
  static int world_size() { return ranks; }
  static void run(TransportSettings settings, Ending ending, const Body& body) {
    strict::Settings behavior;
    if (timing == Timing::jittery) {
      behavior.busy_answers = 5;
      behavior.delay = [](int from, int to) {
        static std::minstd_rand random(7);  // under the model's lock
        return std::chrono::microseconds(random() % 3 == 0 ? 900 * (1 + (from + to) % 3) : 0);
      };
    }
    strict::StrictWorld world(ranks, behavior);
    {
      auto transports = strict::make_strict_transports(world, ranks, settings);
      std::vector<std::thread> threads;
      for (auto& transport : transports) {
        threads.emplace_back([&] {
          try {
            transport->connect(strict::ring_pairs(ranks));
            body(*transport);
            if (ending == Ending::clean) transport->finish();
          } catch (const std::exception& error) {
            ADD_FAILURE() << "rank " << transport->rank() << ": " << error.what();
            transport->abort(error.what());
          }
        });
      }
      for (std::thread& thread : threads) thread.join();
    }
    EXPECT_THAT(world.leftovers(), ::testing::IsEmpty());
    if (ending == Ending::clean) {
      EXPECT_THAT(world.findings(), ::testing::IsEmpty());
    }
  }
};

using Worlds = ::testing::Types<StrictRanks<2>, StrictRanks<3>, StrictRanks<5>, StrictRanks<2, Timing::jittery>,
                                StrictRanks<3, Timing::jittery>>;
INSTANTIATE_TYPED_TEST_SUITE_P(StrictNccl, TransportSuite, Worlds);

}  // namespace
}  // namespace plumbline
