// SPDX-License-Identifier: BSD-3-Clause
// Failures of the other rank or of the library are named in time, and nothing hangs.
#include <ATen/ops/equal.h>
#include <ATen/ops/full.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <future>
#include <latch>

#include "pipeline/replica_sum.hpp"
#include "pipeline/transport/group.hpp"
#include "pipeline/transport/nccl/nccl_payloads.hpp"
#include "pipeline/transport/transport.hpp"
#include "tests/pipeline/transport/ranks.hpp"
#include "tests/strict_nccl/mistakes.hpp"
#include "tests/strict_nccl/strict_run.hpp"

namespace plumbline::strict {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr TransportSettings hasty{milliseconds(400), milliseconds(400)};

void one_message(Transport& t) {
  if (t.rank() == 0) post(t, {send_to(t, 1, 3, content(0, 3, {2, 3, 4}))});
  if (t.rank() == 1) {
    EXPECT_TRUE(at::equal(post_one(t, receive_from(t, 0, 3, {2, 3, 4}))->wait(), content(0, 3, {2, 3, 4})));
  }
  t.wait_for_sends();
}

// The peer's process is gone, so nothing arrives over the host either.
TEST(DeadPeer, IsNamedAsSoonAsTheLibraryKnows) {
  StrictWorld world(3);
  std::latch all_there(3);
  std::latch all_said(3);
  std::vector<std::string> said(3);
  const Outcome outcome = run_strict(world, {.ranks = 3, .finish = false}, [&](Transport& t) {
    all_there.arrive_and_wait();
    if (t.rank() == 1) {
      world.lose(1);
    } else {
      said[static_cast<std::size_t>(t.rank())] = thrown_by<RunError>([&] {
        post_one(t, receive_from(t, 1, 3, {2, 3, 4}))->wait();
      });
    }
    // no rank leaves before all have reported the failure, since leaving would send a message over the host
    all_said.arrive_and_wait();
  });

  // forward or backward, whichever is polled next
  EXPECT_THAT(said[0], AllOf(HasSubstr("rank 0: the NCCL communicator of ranks 0 and 1, "),
                             HasSubstr("failed: remote process exited or there was a network error")));
  EXPECT_THAT(said[2], AllOf(HasSubstr("rank 2: the NCCL communicator of ranks 1 and 2, "),
                             HasSubstr("failed: remote process exited or there was a network error")));
  EXPECT_LT(outcome.took, patience) << "not the deadline";
}

TEST(DeadPeer, AnAsynchronousErrorNamesTheTwoRanksAndTheDirection) {
  StrictWorld world(2);
  const Outcome outcome = run_strict(world, {}, [&](Transport& t) {
    if (t.rank() == 1) return t.barrier();
    Pending id = post_one(t, receive_from(t, 1, 3, {2, 3, 4}));
    world.fail(0, "unhandled cuda error (planted)");
    id->wait();  // throws
  });

  EXPECT_THAT(outcome.errors[0], HasSubstr("rank 0: the NCCL communicator of ranks 0 and 1, forward failed: unhandled "
                                           "cuda error (planted)"));
  EXPECT_THAT(outcome.errors[1], HasSubstr("rank 0 ended the run: rank 0: the NCCL communicator"));
  EXPECT_LT(outcome.took, patience) << "not its deadline";
  EXPECT_THAT(outcome.leftovers, IsEmpty());
}

TEST(DeadPeer, IsNamedAtTheStartUpDeadlineIfItNeverConnects) {
  Settings behavior;
  behavior.init_never_ends = {1};
  const Outcome outcome = run_strict({.behavior = behavior, .transport = hasty, .finish = false}, one_message);

  EXPECT_THAT(all_words(outcome),
              HasSubstr(" waits for the NCCL communicator of ranks 0 and 1, forward, 0.4 s: this exceeds "
                        "the time limit for start-up"));
  EXPECT_LT(outcome.took, patience);
  EXPECT_THAT(outcome.leftovers, IsEmpty());
}

TEST(LatePeer, IsAcceptedWithinTheDeadline) {
  StrictWorld world(2);
  const Outcome outcome = run_strict(world, {}, [&](Transport& t) {
    if (t.rank() == 0) {
      world.freeze(0);
      post(t, {send_to(t, 1, 3, content(0, 3, {2, 3, 4}))});
      std::this_thread::sleep_for(milliseconds(200));
      world.thaw(0);
      t.wait_for_sends();
    } else {
      one_message(t);
    }
  });

  EXPECT_THAT(outcome.errors, ::testing::Each(""));
  EXPECT_THAT(outcome.findings, IsEmpty());
  EXPECT_THAT(outcome.leftovers, IsEmpty());
  EXPECT_GE(outcome.took, milliseconds(200));
}

// Its header has arrived, so its host is alive; its GPU never reaches the message.
TEST(LatePeer, IsNamedWithOperationAndShapeAfterTheDeadline) {
  StrictWorld world(2);
  const Outcome outcome = run_strict(world, {.transport = {milliseconds(300)}}, [&](Transport& t) {
    if (t.rank() == 0) {
      world.freeze(0);
      post(t, {send_to(t, 1, 3, content(0, 3, {2, 3, 4}))});
      std::this_thread::sleep_for(seconds(3));  // so that the other rank's deadline passes first
      t.wait_for_sends();
    } else {
      post_one(t, receive_from(t, 0, 3, {2, 3, 4}))->wait();
    }
  });

  EXPECT_THAT(outcome.errors[1], HasSubstr("rank 1 waits for RECV_F microbatch 3 from rank 0, 2x3x4 float32, 0.3 s"));
  EXPECT_THAT(outcome.errors[0], HasSubstr("rank 1 ended the run: rank 1 waits for RECV_F microbatch 3"));
  EXPECT_LT(outcome.took, patience) << "operations on the frozen GPU are aborted, not waited for";
  world.thaw(0);
  EXPECT_TRUE(world.compute_idle(0));
  EXPECT_THAT(world.leftovers(), IsEmpty());
}

/// Rank 1 gets a tensor before the GPU of rank 0 has sent it.
Outcome hand_on_early(const GpuSeam& seam, bool* arrived_right) {
  StrictWorld world(2);
  const at::Tensor made = content(0, 3, {2, 3, 4});
  return run_strict(world, {.seam = seam, .nccl = {.run_ahead = 2}}, [&](Transport& t) {
    if (t.rank() == 0) {
      world.freeze(0);
      post(t, {send_to(t, 1, 3, made)});
      t.barrier();
      world.thaw(0);
      t.wait_for_sends();
    } else {
      const at::Tensor got = post_one(t, receive_from(t, 0, 3, {2, 3, 4}))->wait();
      world.launch(1, {.name = "forward", .reads = {{got.const_data_ptr(), got.nbytes()}}, .writes = {}, .body = [=] {
                         *arrived_right = at::equal(got, made);
                       }});
      world.compute_idle(1);
      t.barrier();
      t.wait_for_payloads();
      while (!world.compute_idle(1)) std::this_thread::yield();
    }
  });
}

TEST(RunAhead, ComputeWaitsForAPayloadInPlaceOfTheHost) {
  bool arrived_right = false;
  const Outcome clean = hand_on_early({}, &arrived_right);
  EXPECT_THAT(all_words(clean), ::testing::MatchesRegex("\n*"));
  EXPECT_TRUE(arrived_right);

  const Outcome unordered = hand_on_early(plant_cuda<NoEventWaits>({1}), &arrived_right);
  EXPECT_THAT(all_words(unordered),
              HasSubstr("rank 1's kernel forward reads memory that rank 1's receive of 24 float32 "
                        "from rank 0 writes at that moment"));
  EXPECT_FALSE(arrived_right);
}

TEST(RunAhead, TheHostStopsAtItsLimitAndNamesTheOldestPayload) {
  StrictWorld world(2);
  std::vector<at::Tensor> handed_on;
  const Outcome outcome =
      run_strict(world, {.transport = {milliseconds(300)}, .nccl = {.run_ahead = 2}}, [&](Transport& t) {
        if (t.rank() == 0) {
          world.freeze(0);
          for (const int m : {3, 4, 5}) post(t, {send_to(t, 1, m, content(0, m, {2, 3, 4}))});
          std::this_thread::sleep_for(seconds(3));  // so that the other rank's deadline passes first
          t.wait_for_sends();
        } else {
          for (const int m : {3, 4, 5}) {
            handed_on.push_back(post_one(t, receive_from(t, 0, m, {2, 3, 4}))->wait());
          }
        }
      });

  EXPECT_EQ(handed_on.size(), 2U);
  EXPECT_THAT(outcome.errors[1], HasSubstr("rank 1 waits for RECV_F microbatch 3 from rank 0, 2x3x4 float32, 0.3 s"));
  EXPECT_LT(outcome.took, patience);
}

/// A state with one gradient of one element, which the last replica adds.
TrainState one_gradient() {
  TrainedParameter parameter;
  parameter.value = at::full({1}, 0.0F);
  parameter.value.mutable_grad() = at::full({1}, 1.0F);
  TrainState state;
  state.parameters.push_back(std::move(parameter));
  return state;
}

// The rank's next action is a copy to the host, which waits in CUDA without a limit.
TEST(RunAhead, TheSumOverReplicasHasArrivedOrItsDeadlineHasPassed) {
  StrictWorld world(2);
  const RunOptions options{.transport = {milliseconds(300)}, .nccl = {.run_ahead = 2}, .connect = false};
  const Outcome outcome = run_strict(world, options, [&](Transport& t) {
    t.connect(connections_of({1, 1, PlacementKind::loop}, false, 2));
    if (t.rank() == 0) {
      ReplicaSum sum(Group(t), at::kCPU);
      sum.start(0, 0, one_gradient());
      return sum.finish();
    }
    MessageHeader header;  // as its ReplicaSum would, until its GPU freezes
    header.dtype = static_cast<std::int32_t>(at::kFloat);
    header.dimensions = 1;
    header.sizes = {1};
    const at::Tensor got = t.receive(0, header)->wait();
    t.wait_for_payloads();
    world.freeze(1);
    header.direction = Direction::backward;
    Pending sum = t.send(0, header, got);
    std::this_thread::sleep_for(seconds(3));  // so that the other rank's deadline passes first
    t.wait_for_sends();
  });

  EXPECT_THAT(outcome.errors[0], HasSubstr("from rank 1, 1 float32, 0.3 s"));
  EXPECT_LT(outcome.took, patience);
}

// Their shapes are those of the parameters, so headers in every step would cost more than they find.
TEST(Replicas, HeadersTravelInTheFirstStepOnly) {
  std::vector<std::string> said(2);
  const Outcome outcome = run_strict({.connect = false, .finish = false}, [&](Transport& t) {
    t.connect(connections_of({1, 1, PlacementKind::loop}, false, 2));
    MessageHeader header;
    header.dtype = static_cast<std::int32_t>(at::kFloat);
    header.dimensions = 1;
    header.sizes = {4};
    const auto exchange = [&](std::int64_t step, std::int32_t expected_bucket) {
      header.step = step;
      header.microbatch = t.rank() == 0 ? 7 : expected_bucket;
      if (t.rank() == 0) t.send(1, header, at::full({4}, static_cast<float>(step)))->wait();
      if (t.rank() == 1) {
        EXPECT_EQ(t.receive(0, header)->wait()[3].item<float>(), static_cast<float>(step));
      }
    };
    exchange(5, 7);
    exchange(6, 8);  // not compared
    if (t.rank() == 1) said[1] = thrown_by<RunError>([&] { exchange(5, 8); });
    if (t.rank() == 0)
      said[0] = thrown_by<RunError>([&] {
        exchange(5, 8);
        t.barrier();
      });
  });
  EXPECT_THAT(said[1], HasSubstr("they differ in the microbatch"));
}

TEST(TearDown, AHangingAbortDoesNotDelayTheRank) {
  Settings behavior;
  behavior.abort_hangs = true;
  StrictWorld world(2, behavior);
  const Outcome outcome = run_strict(world, {.nccl = {.abort_limit = milliseconds(100)}}, [](Transport& t) {
    if (t.rank() == 1) throw RunError("planted");
    t.barrier();
  });

  EXPECT_THAT(outcome.errors[0], HasSubstr("rank 1 ended the run: planted"));
  EXPECT_LT(outcome.took, patience);

  world.let_aborts_return();
  while (!world.leftovers().empty()) std::this_thread::sleep_for(milliseconds(1));
}

// If aborts ran one after the other, the first would wait for the others, which would never start.
TEST(TearDown, AbortsAllCommunicatorsAtOnce) {
  StrictWorld world(2, {.aborts_meet = true});
  run_strict(world, {.nccl = {.abort_limit = seconds(20)}}, [](Transport& t) {
    if (t.rank() == 1) throw RunError("planted");
    t.barrier();
  });

  EXPECT_THAT(world.leftovers(), IsEmpty());
  world.let_aborts_return();
}

TEST(TearDown, NamesAndAbortsAHangingFinalization) {
  Settings behavior;
  behavior.finalize_never_ends = true;
  const Outcome outcome = run_strict({.behavior = behavior, .transport = {seconds(2)}}, one_message);

  EXPECT_THAT(all_words(outcome), HasSubstr("waits for the end of the NCCL communicator of ranks 0 and 1, forward"));
  EXPECT_LT(outcome.took, patience);
  EXPECT_THAT(outcome.leftovers, IsEmpty());
}

TEST(TearDown, AbortsEverythingWithoutFinish) {
  const Outcome outcome = run_strict({.finish = false}, [](Transport& t) {
    if (t.rank() == 0) post(t, {send_to(t, 1, 3, content(0, 3, {2, 3, 4}))});
  });

  EXPECT_THAT(outcome.leftovers, IsEmpty());
  EXPECT_LT(outcome.took, patience);
}

TEST(StartUp, RefusesUnequalVersionsOnAllRanks) {
  Settings behavior;
  behavior.versions = {22809, 22809, 23003};
  const Outcome outcome = run_strict({.ranks = 3, .behavior = behavior}, [](Transport&) {});

  for (const std::string& error : outcome.errors) {
    EXPECT_THAT(error, HasSubstr("NCCL cannot start: rank 2 runs with NCCL 2.30.3, rank 0 with 2.28.9: all ranks must "
                                 "load the same library"));
  }
}

/// The library does not report its version.
class UnknownVersion : public ForwardingNccl {
 public:
  using ForwardingNccl::ForwardingNccl;
  int version() override { throw GpuError("ncclGetVersion", "planted"); }
};

TEST(StartUp, NamesTheRankWithoutAVersionOnAllRanks) {
  const Outcome outcome = run_strict({.ranks = 3, .seam = plant_nccl<UnknownVersion>({1})}, [](Transport&) {});

  EXPECT_THAT(outcome.errors, ::testing::Each(HasSubstr("NCCL cannot start: rank 1: ncclGetVersion: planted")));
}

TEST(StartUp, ReportsAMissingIdOnAllRanks) {
  Settings behavior;
  behavior.unique_id_error = "unhandled system error (planted)";
  const Outcome outcome = run_strict({.ranks = 3, .behavior = behavior}, [](Transport&) {});

  for (const std::string& error : outcome.errors) {
    EXPECT_THAT(error, HasSubstr("NCCL cannot start: ncclGetUniqueId: unhandled system error (planted)"));
  }
}

TEST(StartUp, ARankThatCannotInitializeEndsTheOthers) {
  Settings behavior;
  behavior.init_fails_on = {1};
  const Outcome outcome = run_strict({.ranks = 3, .behavior = behavior}, [](Transport&) {});

  EXPECT_THAT(outcome.errors[1], HasSubstr("ncclCommInitRankConfig: unhandled cuda error (planted)"));
  EXPECT_THAT(outcome.errors[0], HasSubstr("rank 1 ended the run: ncclCommInitRankConfig"));
  EXPECT_THAT(outcome.errors[2], HasSubstr("rank 1 ended the run: ncclCommInitRankConfig"));
  EXPECT_LT(outcome.took, patience) << "not the start-up deadline";
  EXPECT_THAT(outcome.leftovers, IsEmpty());
}

TEST(StartUp, DetectsCorruptLinks) {
  Settings behavior;
  behavior.corrupts = true;
  const Outcome outcome = run_strict({.behavior = behavior}, [](Transport&) {});

  EXPECT_THAT(all_words(outcome), HasSubstr("forward does not deliver what was sent"));
}

/// Replaces what the rank sends first by what its peer sends it.
class SendsItsPeersPattern : public ForwardingNccl {
 public:
  using ForwardingNccl::ForwardingNccl;
  void send(const void* /*data*/, std::size_t count, NcclType type, int peer, NcclCommunicator communicator,
            GpuStream stream) override {
    inner_.send(pattern_.data(), count, type, peer, communicator, stream);
  }

 private:
  std::vector<float> pattern_ = std::vector<float>(4096, 1000);  // rank 0's
};

TEST(StartUp, DetectsALinkThatLoopsBack) {
  const Outcome outcome = run_strict({.seam = plant_nccl<SendsItsPeersPattern>({1})}, [](Transport&) {});

  EXPECT_THAT(outcome.errors[0], HasSubstr("rank 0: the NCCL communicator of ranks 0 and 1, forward does not deliver "
                                           "what was sent"));
}

TEST(StartUp, OneRankNeedsNoLibrary) {
  Settings behavior;
  behavior.unique_id_error = "not to be called";
  const Outcome outcome = run_strict({.ranks = 1, .behavior = behavior}, [](Transport& t) {
    EXPECT_TRUE(post(t, {}).empty());
    t.barrier();
  });

  EXPECT_THAT(outcome.errors, ::testing::ElementsAre(""));
}

TEST(StartUp, RefusesAMessageWithoutAConnection) {
  const Outcome outcome = run_strict({.connect = false}, [](Transport& t) {
    if (t.rank() == 0) {
      EXPECT_THROW(post(t, {send_to(t, 1, 3, content(0, 3, {2, 3, 4}))}), std::logic_error);
    }
    t.barrier();
    throw RunError("enough");
  });
}

TEST(Groups, ABatchIsOneGroup) {
  StrictWorld world(3);
  std::int64_t before = 0;
  const Outcome outcome = run_strict(world, {.ranks = 3}, [&](Transport& t) {
    t.barrier();
    if (t.rank() == 0) before = world.groups();
    t.barrier();
    const int next = (t.rank() + 1) % 3;
    const int previous = (t.rank() + 2) % 3;
    auto ids = post(t, {
                           send_to(t, next, 0, content(t.rank(), 0, {1, 2, 4})),
                           send_to(t, next, 1, content(t.rank(), 1, {1, 2, 4})),
                           receive_from(t, previous, 0, {1, 2, 4}),
                           receive_from(t, previous, 1, {1, 2, 4}),
                           send_to(t, next, 2, content(t.rank(), 2, {1, 2, 4})),
                           receive_from(t, previous, 2, {1, 2, 4}),
                       });
    for (const std::size_t received : {2, 3, 5}) ids[received]->wait();
    t.wait_for_sends();
  });

  EXPECT_THAT(all_words(outcome), ::testing::MatchesRegex("\n*"));
  EXPECT_EQ(world.groups() - before, 3) << "one for each rank";
  EXPECT_EQ(world.largest_group(), 6) << "with both neighbors";
}

TEST(BoundedCall, ReportsWhetherTheCallReturned) {
  EXPECT_TRUE(call_bounded(seconds(10), {[] {}, [] {}}));

  std::promise<void> release, over;
  const auto late = [&] {
    release.get_future().wait();
    over.set_value_at_thread_exit();
  };
  EXPECT_FALSE(call_bounded(milliseconds(20), {[] {}, late}))
      << "the call did not wait for it, so it has not ended yet";
  release.set_value();
  over.get_future().wait();
}

}  // namespace
}  // namespace plumbline::strict
