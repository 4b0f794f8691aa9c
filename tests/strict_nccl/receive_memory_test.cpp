// SPDX-License-Identifier: BSD-3-Clause
// Buffers that are freed while compute on them is queued: later receives must not wait for that compute, and must not
// overwrite what it reads.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <vector>

#include "tests/pipeline/transport/ranks.hpp"
#include "tests/strict_nccl/mistakes.hpp"
#include "tests/strict_nccl/strict_run.hpp"

namespace plumbline::strict {
namespace {

using ::testing::ElementsAre;

struct Seen {
  std::vector<bool> computing;      ///< by message: whether compute on the previous one was unfinished when it arrived
  std::vector<bool> read_right;     ///< by message: whether that compute read the right values
  std::vector<const void*> memory;  ///< by message
};

/// Rank 1 computes for 1 s with each of four messages, and frees each at once.
Outcome receive_while_computing(const GpuSeam& seam, Seen& seen) {
  StrictWorld world(2, {.busy_answers = 0, .virtual_time = true});
  seen.read_right.resize(4);
  return run_strict(world, {.seam = seam}, [&](Transport& t) {
    for (int m = 0; m < 4; ++m) {
      if (t.rank() == 0) {
        post_one(t, send_to(t, 1, m, content(0, m, {64})));
        continue;
      }
      const at::Tensor came = post_one(t, receive_from(t, 0, m, {64}))->wait();
      seen.computing.push_back(!world.compute_idle(1));
      seen.memory.push_back(came.const_data_ptr());
      const at::Tensor expected = content(0, m, {64});
      world.launch(1, {.name = "forward",
                       .reads = {{came.const_data_ptr(), came.nbytes()}},
                       .writes = {},
                       .body =
                           [&seen, m, expected, data = came.const_data_ptr()] {
                             seen.read_right[static_cast<std::size_t>(m)] =
                                 std::memcmp(data, expected.const_data_ptr(), expected.nbytes()) == 0;
                           },
                       .time = std::chrono::seconds(1)});
    }
    t.wait_for_sends();
    while (!world.compute_idle(t.rank())) std::this_thread::yield();
    t.barrier();
  });
}

TEST(ReceiveMemory, IsReusedAfterItsLastUseAndWithoutWaitingForOtherCompute) {
  Seen seen;
  const Outcome outcome = receive_while_computing({}, seen);

  EXPECT_THAT(all_words(outcome), ::testing::MatchesRegex("\n*"));
  EXPECT_THAT(outcome.leftovers, ::testing::IsEmpty());
  EXPECT_THAT(seen.computing, ElementsAre(false, true, true, true));
  EXPECT_THAT(seen.read_right, ElementsAre(true, true, true, true));
  EXPECT_EQ(seen.memory[2], seen.memory[0]);
  EXPECT_EQ(seen.memory[3], seen.memory[1]);
}

TEST(ReceiveMemory, FindsAReceiveThatDoesNotWaitForTheLastUse) {
  Seen seen;
  const Outcome outcome = receive_while_computing(plant_cuda<NoEventWaits>({1}), seen);

  EXPECT_THAT(all_words(outcome), ::testing::HasSubstr("rank 1's receive of 64 float32 from rank 0 writes memory that "
                                                       "rank 1's kernel forward reads"));
  EXPECT_FALSE(seen.read_right[0]);
}

}  // namespace
}  // namespace plumbline::strict
