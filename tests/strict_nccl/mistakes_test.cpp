// SPDX-License-Identifier: BSD-3-Clause
// Each mistake that the strict libraries exist to detect is injected and detected, and the same exchange without it is
// clean.
#include "tests/strict_nccl/mistakes.hpp"

#include <ATen/ops/equal.h>
#include <ATen/ops/zeros.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

#include "schedule/direction.hpp"
#include "tests/pipeline/transport/ranks.hpp"
#include "tests/strict_nccl/one_end.hpp"
#include "tests/strict_nccl/strict_run.hpp"

namespace plumbline::strict {
namespace {

using std::chrono::milliseconds;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

/// A clean run has no error, no finding, and no leftovers.
void expect_clean(const Outcome& outcome) {
  EXPECT_THAT(all_words(outcome), ::testing::MatchesRegex("\n*"));
  EXPECT_THAT(outcome.leftovers, IsEmpty());
}

Settings prompt() {
  Settings behavior;
  behavior.busy_answers = 0;
  return behavior;
}

/// Both ranks send to each other and receive, in one batch.
void exchange(Transport& t) {
  const int peer = 1 - t.rank();
  auto ids = post(t, {send_to(t, peer, 1, content(t.rank(), 1, {2, 7, 4})), receive_from(t, peer, 1, {2, 7, 4})});
  EXPECT_TRUE(at::equal(ids[1]->wait(), content(peer, 1, {2, 7, 4})));
  t.wait_for_sends();
}

TEST(Mistakes, FindsTheCycleOfAnUngroupedExchange) {
  expect_clean(run_strict({.behavior = prompt()}, exchange));

  const Outcome outcome = run_strict({.behavior = prompt(), .seam = plant_nccl<SplitGroups>({0, 1})}, [](Transport& t) {
    const int peer = 1 - t.rank();
    auto ids = post(t, {send_to(t, peer, 1, content(t.rank(), 1, {2, 7, 4})), receive_from(t, peer, 1, {2, 7, 4})});
    ids[1]->wait();
  });

  EXPECT_THAT(
      all_words(outcome),
      AllOf(HasSubstr("wait for each other in a circle"), HasSubstr("rank 0's send of 4096 float32 to rank 1"),
            HasSubstr("rank 1's send of 4096 float32 to rank 0"), HasSubstr("send and receive must be one group")));
  EXPECT_THAT(all_words(outcome), HasSubstr("the NCCL communicator of ranks 0 and 1, forward failed"));
  EXPECT_LT(outcome.took, patience) << "the cycle is found before the deadline";
  EXPECT_THAT(outcome.leftovers, IsEmpty());
}

/// Two ranks exchange forward and backward messages in the same direction. The receiver posts them in the other order,
/// which is allowed, since order is per direction.
void both_directions(Transport& t) {
  constexpr auto back = Direction::backward;
  if (t.rank() == 0) {
    post(t, {send_to(t, 1, 1, content(0, 1, {2, 7, 4}))});
    post(t, {send_to(t, 1, 0, content(0, 0, {1, 3, 4}, back), back)});
    t.wait_for_sends();
  } else {
    Pending gradient = post_one(t, receive_from(t, 0, 0, {1, 3, 4}, back));
    Pending activation = post_one(t, receive_from(t, 0, 1, {2, 7, 4}));
    EXPECT_TRUE(at::equal(activation->wait(), content(0, 1, {2, 7, 4})));
    EXPECT_TRUE(at::equal(gradient->wait(), content(0, 0, {1, 3, 4}, back)));
  }
}

TEST(Mistakes, OneCommunicatorForBothDirectionsMixesUpShapes) {
  expect_clean(run_strict({.behavior = prompt()}, both_directions));

  const Outcome outcome = run_strict(
      {.behavior = prompt(), .seam = both(plant_nccl<JoinedDirections>({0, 1}), plant_cuda<JoinedStreams>({0, 1}))},
      both_directions);

  EXPECT_THAT(all_words(outcome), HasSubstr("rank 0's send of 56 float32 to rank 1 meets rank 1's receive of 12 "
                                            "float32 from rank 0: both ends must give the same count and type"));
  EXPECT_THAT(outcome.leftovers, IsEmpty());
}

/// Two activations of different shapes in one batch, as at two ranks with two chunks each.
void two_shapes(Transport& t) {
  if (t.rank() == 0) {
    post(t, {send_to(t, 1, 0, content(0, 0, {2, 9, 4})), send_to(t, 1, 1, content(0, 1, {1, 3, 4}))});
    t.wait_for_sends();
  } else {
    auto ids = post(t, {receive_from(t, 0, 0, {2, 9, 4}), receive_from(t, 0, 1, {1, 3, 4})});
    EXPECT_TRUE(at::equal(ids[0]->wait(), content(0, 0, {2, 9, 4})));
    EXPECT_TRUE(at::equal(ids[1]->wait(), content(0, 1, {1, 3, 4})));
  }
}

TEST(Mistakes, ReceivesInAnotherOrderMixUpShapes) {
  expect_clean(run_strict({}, two_shapes));

  const Outcome outcome = run_strict({.seam = plant_nccl<ReversedReceives>({1})}, two_shapes);

  // either rank may detect it first
  EXPECT_THAT(all_words(outcome),
              HasSubstr("the NCCL communicator of ranks 0 and 1, forward failed: rank 0's send of 72 float32 to rank 1 "
                        "meets rank 1's receive of 12 float32 from rank 0"));
}

// Below the transport, two messages of one shape cannot be distinguished; the delivered values show the error.
TEST(Mistakes, ReceivesOfOneShapeInAnotherOrderDeliverTheWrongTensor) {
  const Outcome outcome = run_strict({.seam = plant_nccl<ReversedReceives>({1})}, [](Transport& t) {
    if (t.rank() == 0) {
      post(t, {send_to(t, 1, 0, content(0, 0, {1, 3, 4})), send_to(t, 1, 1, content(0, 1, {1, 3, 4}))});
      t.wait_for_sends();
    } else {
      auto ids = post(t, {receive_from(t, 0, 0, {1, 3, 4}), receive_from(t, 0, 1, {1, 3, 4})});
      EXPECT_TRUE(at::equal(ids[0]->wait(), content(0, 1, {1, 3, 4})));
      ids[1]->wait();
    }
  });

  expect_clean(outcome);
}

TEST(Mistakes, NamesUnequalCountsAndTypes) {
  const auto one_message = [](Transport& t) {
    if (t.rank() == 0) post(t, {send_to(t, 1, 3, content(0, 3, {2, 3, 4}))});
    if (t.rank() == 1) post_one(t, receive_from(t, 0, 3, {2, 3, 4}))->wait();
    t.wait_for_sends();
  };

  const Outcome fewer = run_strict(
      {.seam = plant_nccl({1}, [](NcclApi& inner) { return std::make_unique<OtherReceives>(inner, 1, false); })},
      one_message);
  const Outcome another = run_strict(
      {.seam = plant_nccl({1}, [](NcclApi& inner) { return std::make_unique<OtherReceives>(inner, 0, true); })},
      one_message);

  EXPECT_THAT(all_words(fewer), HasSubstr("send of 24 float32 to rank 1 meets rank 1's receive of 23 float32"));
  EXPECT_THAT(all_words(another), HasSubstr("send of 24 float32 to rank 1 meets rank 1's receive of 24 int32"));
}

/// Rank 0 sends what its compute stream has not computed yet.
Outcome send_while_it_is_computed(const GpuSeam& seam, bool* arrived_right) {
  StrictWorld world(2);
  const at::Tensor made = content(0, 5, {2, 3, 4});
  return run_strict(world, {.seam = seam}, [&](Transport& t) {
    if (t.rank() == 0) {
      const at::Tensor payload = at::zeros({2, 3, 4});
      world.launch(0, {.name = "forward",
                       .reads = {},
                       .writes = {{payload.const_data_ptr(), payload.nbytes()}},
                       .body = [payload, made] { payload.copy_(made); },
                       .time = milliseconds(500)});
      post(t, {send_to(t, 1, 5, payload)});
      t.wait_for_sends();
    } else {
      *arrived_right = at::equal(post_one(t, receive_from(t, 0, 5, {2, 3, 4}))->wait(), made);
    }
  });
}

TEST(Mistakes, FindsASendThatDoesNotWaitForItsCompute) {
  bool arrived_right = false;
  expect_clean(send_while_it_is_computed({}, &arrived_right));
  EXPECT_TRUE(arrived_right);

  const Outcome outcome = send_while_it_is_computed(plant_cuda<NoEventWaits>({0}), &arrived_right);

  EXPECT_FALSE(arrived_right);
  EXPECT_THAT(all_words(outcome), HasSubstr("rank 0's send of 24 float32 to rank 1 reads memory that rank 0's kernel "
                                            "forward writes at that moment, and no event orders the two"));
}

/// A receive into memory that a kernel of the receiver still reads: an allocator reuses such memory.
std::vector<std::string> receive_into_memory_in_use(const GpuSeam& seam, bool* kernel_saw_old) {
  StrictWorld world(2, prompt());
  const at::Tensor buffer = content(1, 0, {64});
  const at::Tensor old = buffer.clone();
  {
    OneEnd sender(0, world.gpu(0));
    OneEnd receiver(1, seam ? seam(1, world.gpu(1)) : world.gpu(1));
    world.launch(1, {.name = "backward",
                     .reads = {{buffer.const_data_ptr(), buffer.nbytes()}},
                     .writes = {},
                     .body = [&] { *kernel_saw_old = at::equal(buffer, old); },
                     .time = milliseconds(500)});
    const Transfer received = receiver.receive(buffer), sent = sender.send(content(0, 0, {64}));
    move_on(sender, receiver, [&] { return world.compute_idle(1); });
    move_on(sender, receiver, [&] { return received->arrived; });
    move_on(sender, receiver, [&] { return sent->arrived; });
  }
  return world.findings();
}

TEST(Mistakes, FindsAReceiveIntoMemoryInUse) {
  bool kernel_saw_old = false;
  EXPECT_THAT(receive_into_memory_in_use({}, &kernel_saw_old), IsEmpty());
  EXPECT_TRUE(kernel_saw_old);

  const auto findings = receive_into_memory_in_use(plant_cuda<NoEventWaits>({1}), &kernel_saw_old);

  EXPECT_FALSE(kernel_saw_old);
  EXPECT_THAT(findings, ::testing::Contains(HasSubstr("rank 1's receive of 64 float32 from rank 0 writes memory that "
                                                      "rank 1's kernel backward reads at that moment")));
}

TEST(Mistakes, FindsComputeThatReadsAPendingReceive) {
  StrictWorld world(2, prompt());
  at::Tensor buffer = at::zeros({64});
  at::Tensor seen;
  {
    OneEnd sender(0, world.gpu(0));
    OneEnd receiver(1, world.gpu(1));
    const Transfer received = receiver.receive(buffer);
    for (int i = 0; i < 3; ++i) receiver.progress();  // until its stream has reached it
    world.launch(1,
                 {.name = "forward", .reads = {{buffer.const_data_ptr(), buffer.nbytes()}}, .writes = {}, .body = [&] {
                    seen = buffer.clone();
                  }});
    EXPECT_TRUE(world.compute_idle(1));
    const Transfer sent = sender.send(content(0, 0, {64}));
    move_on(sender, receiver, [&] { return received->arrived; });
    move_on(sender, receiver, [&] { return sent->arrived; });
  }

  EXPECT_TRUE(seen.isnan().all().item<bool>()) << "a reader of an unfinished receive sees NaN, not old values";
  EXPECT_TRUE(at::equal(buffer, content(0, 0, {64})));
  EXPECT_THAT(world.findings(),
              ::testing::Contains(HasSubstr("rank 1's kernel forward reads memory that rank 1's "
                                            "receive of 64 float32 from rank 0 writes at that moment")));
}

TEST(Mistakes, FindsASendBufferReusedByCompute) {
  StrictWorld world(2);
  const Outcome outcome = run_strict(world, {}, [&](Transport& t) {
    if (t.rank() == 0) {
      const at::Tensor payload = content(0, 5, {2, 3, 4});
      Pending id = post_one(t, send_to(t, 1, 5, payload));
      for (int i = 0; i < 20; ++i) id->test();  // until its stream has reached it
      world.launch(0, {.name = "next forward",
                       .reads = {},
                       .writes = {{payload.const_data_ptr(), payload.nbytes()}},
                       .body = [payload] { payload.zero_(); }});
      while (!world.compute_idle(0)) {
      }
      t.barrier();
      t.wait_for_sends();
    } else {
      t.barrier();
      post_one(t, receive_from(t, 0, 5, {2, 3, 4}))->wait();
    }
  });

  EXPECT_THAT(all_words(outcome),
              AllOf(HasSubstr("rank 0's kernel next forward writes memory that rank 0's send of 24 float32 to rank 1"),
                    HasSubstr("the memory of rank 0's send of 24 float32 to rank 1 was changed before")));
}

TEST(Mistakes, FindsASendBufferWrittenByTheHost) {
  const Outcome outcome = run_strict({}, [](Transport& t) {
    if (t.rank() == 0) {
      const at::Tensor payload = content(0, 5, {2, 3, 4});
      post(t, {send_to(t, 1, 5, payload)});
      t.barrier();
      payload.add_(1);
      t.barrier();
      t.wait_for_sends();
    } else {
      t.barrier();
      t.barrier();
      post_one(t, receive_from(t, 0, 5, {2, 3, 4}))->wait();
    }
  });

  EXPECT_THAT(all_words(outcome),
              HasSubstr("the memory of rank 0's send of 24 float32 to rank 1 was changed before the send ended"));
}

TEST(Mistakes, FindsAnEventAfterAnUnstartedGroup) {
  // Both outlive the mistake, which treats pending messages as completed.
  const at::Tensor payload = content(0, 0, {64});
  const at::Tensor buffer = at::zeros({64});
  const GpuSeam seam = plant_nccl<ImpatientGroups>({0});
  StrictWorld world(2);
  {
    OneEnd sender(0, seam(0, world.gpu(0)));
    OneEnd receiver(1, world.gpu(1));
    sender.send(payload);
    const Transfer received = receiver.receive(buffer);
    move_on(sender, receiver, [&] { return received->arrived; });
  }

  EXPECT_THAT(world.findings(),
              ::testing::Contains(HasSubstr("rank 0 records an event behind a group that is not on the "
                                            "stream yet")));
}

TEST(Mistakes, ClosesAGroupAfterAnError) {
  const Outcome outcome = run_strict(
      {.seam = plant_nccl({1}, [](NcclApi& inner) { return std::make_unique<RefusedReceive>(inner, 3); })}, exchange);

  EXPECT_THAT(outcome.errors[1], HasSubstr("ncclRecv: invalid argument (planted)"));
  EXPECT_THAT(outcome.errors[0], HasSubstr("rank 1 ended the run: ncclRecv"));
  EXPECT_THAT(outcome.findings, IsEmpty()) << "no abort within an open group";
  EXPECT_THAT(outcome.leftovers, IsEmpty());
}

}  // namespace
}  // namespace plumbline::strict
