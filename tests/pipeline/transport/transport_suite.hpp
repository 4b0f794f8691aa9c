// What every transport must do, whatever moves the bytes. `TypeParam` runs one body on all ranks: `world_size()` and
// `run(settings, ending, body)`.
#pragma once

#include <ATen/ops/equal.h>
#include <ATen/ops/full.h>
#include <ATen/ops/zeros.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

#include "support/error.hpp"
#include "tests/pipeline/transport/ranks.hpp"
#include "training/memory_meter.hpp"

namespace plumbline {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using namespace std::chrono_literals;

constexpr TransportSettings patient{20s};
/// Where a deadline is to pass.
constexpr TransportSettings hasty{150ms};
/// Where one rank's deadline is to pass after the other rank, however loaded the machine, has got its answer.
constexpr TransportSettings short_of_patience{600ms};

template <typename Ranks>
class TransportSuite : public testing::Test {
 protected:
  void run(const Body& body) { Ranks::run(patient, Ending::clean, body); }
  void run_broken(TransportSettings settings, const Body& body) { Ranks::run(settings, Ending::broken, body); }
  static int world() { return Ranks::world_size(); }
};
TYPED_TEST_SUITE_P(TransportSuite);

TYPED_TEST_P(TransportSuite, Ring) {
  this->run([](Transport& t) {
    const int next = (t.rank() + 1) % t.world_size();
    const int previous = (t.rank() + t.world_size() - 1) % t.world_size();

    const auto ids =
        t.post({send_to(t, next, 5, content(t.rank(), 5, {2, 3, 4})), receive_from(t, previous, 5, {2, 3, 4})});
    ASSERT_EQ(ids.size(), 2U);
    const at::Tensor got = t.wait(ids[1]);
    t.reap_sends();

    EXPECT_TRUE(at::equal(got, content(previous, 5, {2, 3, 4})));
    EXPECT_TRUE(t.test(ids[0]));
    EXPECT_FALSE(t.wait(ids[0]).defined());
  });
}

// At two ranks the previous and the next are the same peer: where shapes of the two directions get crossed.
TYPED_TEST_P(TransportSuite, BothDirectionsAtOnceWithTheSamePeer) {
  this->run([](Transport& t) {
    if (t.rank() > 1) return;
    const int peer = 1 - t.rank();
    constexpr auto back = Direction::backward;

    const auto ids = t.post({
        send_to(t, peer, 1, content(t.rank(), 1, {2, 7, 4})),
        receive_from(t, peer, 0, {1, 3, 4}, back),
        send_to(t, peer, 0, content(t.rank(), 0, {1, 3, 4}, back), back),
        receive_from(t, peer, 1, {2, 7, 4}),
    });
    const at::Tensor gradient = t.wait(ids[1]);
    const at::Tensor activation = t.wait(ids[3]);
    t.reap_sends();

    EXPECT_TRUE(at::equal(gradient, content(peer, 0, {1, 3, 4}, back)));
    EXPECT_TRUE(at::equal(activation, content(peer, 1, {2, 7, 4})));
  });
}

TYPED_TEST_P(TransportSuite, GrowingAndShrinkingShapesDownTheLine) {
  this->run([](Transport& t) {
    const std::vector<std::int64_t> lengths = {1, 128, 3, 64, 64, 1, 200, 17};
    for (int m = 0; m < static_cast<int>(lengths.size()); ++m) {
      const std::vector<std::int64_t> shape = {2, lengths[static_cast<std::size_t>(m)], 8};
      at::Tensor carried = content(0, m, shape);
      if (t.rank() > 0) {
        carried = t.wait(t.post({receive_from(t, t.rank() - 1, m, shape)}).at(0));
        EXPECT_TRUE(at::equal(carried, content(0, m, shape))) << "microbatch " << m;
      }
      if (t.rank() + 1 < t.world_size()) t.post({send_to(t, t.rank() + 1, m, carried)});
    }
    t.reap_sends();
  });
}

TYPED_TEST_P(TransportSuite, OneTokenOfOneRow) {
  this->run([](Transport& t) {
    if (t.rank() == 0) t.post({send_to(t, 1, 0, content(0, 0, {1, 1, 1}))});
    if (t.rank() == 1) {
      EXPECT_TRUE(at::equal(t.wait(t.post({receive_from(t, 0, 0, {1, 1, 1})}).at(0)), content(0, 0, {1, 1, 1})));
    }
    t.reap_sends();
  });
}

TYPED_TEST_P(TransportSuite, UnknownShapesKeepTheirPlaceAmongKnownOnes) {
  this->run([](Transport& t) {
    if (t.rank() == 0) {
      t.post({send_to(t, 1, 0, content(0, 0, {2, 9, 4})), send_to(t, 1, 1, content(0, 1, {1, 2})),
              send_to(t, 1, 2, content(0, 2, {2, 9, 4})), send_to(t, 1, 3, content(0, 3, {1, 5, 2, 3}))});
    }
    if (t.rank() == 1) {
      const auto ids = t.post({receive_from(t, 0, 0, {}), receive_from(t, 0, 1, {1, 2}), receive_from(t, 0, 2, {}),
                               receive_from(t, 0, 3, {1, 5, 2, 3})});
      EXPECT_TRUE(at::equal(t.wait(ids[3]), content(0, 3, {1, 5, 2, 3})));
      EXPECT_TRUE(at::equal(t.wait(ids[2]), content(0, 2, {2, 9, 4})));
      EXPECT_TRUE(at::equal(t.wait(ids[1]), content(0, 1, {1, 2})));
      EXPECT_TRUE(at::equal(t.wait(ids[0]), content(0, 0, {2, 9, 4})));
    }
    t.reap_sends();
  });
}

TYPED_TEST_P(TransportSuite, BatchOfManyWaitedForBackwards) {
  this->run([](Transport& t) {
    constexpr int many = 60;
    std::vector<Operation> batch;
    for (int m = 0; m < many; ++m) {
      const at::DimVector shape = {1, 1 + (m * 7) % 31, 4};
      if (t.rank() == 0) batch.push_back(send_to(t, 1, m, content(0, m, shape)));
      if (t.rank() == 1) batch.push_back(receive_from(t, 0, m, shape));
    }
    const auto ids = t.post(std::move(batch));
    if (t.rank() == 1) {
      ASSERT_EQ(ids.size(), static_cast<std::size_t>(many));
      for (int m = many; m-- > 0;) {
        EXPECT_TRUE(at::equal(t.wait(ids[static_cast<std::size_t>(m)]), content(0, m, {1, 1 + (m * 7) % 31, 4})));
      }
    }
    t.reap_sends();

    EXPECT_EQ(t.batches_posted(), t.rank() < 2 ? 1 : 0);
  });
}

TYPED_TEST_P(TransportSuite, LargePayloadsBothWays) {
  this->run([](Transport& t) {
    if (t.rank() > 1) return;
    const int peer = 1 - t.rank();
    const at::DimVector shape = {8, 512, 512};  // 8 MiB, far above any internal buffer
    std::vector<OperationId> receives;
    for (int m = 0; m < 3; ++m) {
      const auto ids = t.post({send_to(t, peer, m, content(t.rank(), m, shape)), receive_from(t, peer, m, shape)});
      receives.push_back(ids[1]);
    }
    for (int m = 0; m < 3; ++m) {
      EXPECT_TRUE(at::equal(t.wait(receives[static_cast<std::size_t>(m)]), content(peer, m, shape)));
    }
    t.reap_sends();
  });
}

TYPED_TEST_P(TransportSuite, OtherDtypes) {
  this->run([](Transport& t) {
    for (const at::ScalarType dtype : {at::kDouble, at::kBFloat16, at::kHalf, at::kLong}) {
      const at::Tensor payload = content(0, 3, {2, 5, 4}).to(dtype);
      if (t.rank() == 0) t.post({send_to(t, 1, 3, payload)});
      if (t.rank() == 1) {
        Operation receive = receive_from(t, 0, 3, {2, 5, 4});
        receive.header.dtype = static_cast<std::int32_t>(dtype);
        const at::Tensor got = t.wait(t.post({receive}).at(0));
        EXPECT_EQ(got.scalar_type(), dtype);
        EXPECT_TRUE(at::equal(got, payload));
      }
    }
    t.reap_sends();
  });
}

// A send does not end before its receiver is there: what another transport lets through only by its buffers must not
// pass here.
TYPED_TEST_P(TransportSuite, SendEndsOnlyWhenItIsReceived) {
  this->run([](Transport& t) {
    if (t.rank() == 0) {
      const OperationId id = t.post({send_to(t, 1, 0, content(0, 0, {1, 1, 1}))}).at(0);
      std::this_thread::sleep_for(20ms);
      EXPECT_FALSE(t.test(id));
      t.barrier();
      t.reap_sends();
      EXPECT_TRUE(t.test(id));
    } else {
      t.barrier();
      if (t.rank() == 1) t.wait(t.post({receive_from(t, 0, 0, {1, 1, 1})}).at(0));
    }
  });
}

TYPED_TEST_P(TransportSuite, SentTensorIsKeptUntilTakenThenDropped) {
  this->run([](Transport& t) {
    if (t.rank() == 0) {
      at::Tensor payload = content(0, 0, {4, 16, 8});
      const c10::weak_intrusive_ptr<c10::TensorImpl> kept(payload.getIntrusivePtr());
      t.post({send_to(t, 1, 0, payload)});
      payload.reset();
      EXPECT_FALSE(kept.expired());
      t.barrier();
      t.reap_sends();
      EXPECT_TRUE(kept.expired());
    } else {
      t.barrier();
      if (t.rank() == 1) {
        EXPECT_TRUE(at::equal(t.wait(t.post({receive_from(t, 0, 0, {4, 16, 8})}).at(0)), content(0, 0, {4, 16, 8})));
      }
    }
  });
}

TYPED_TEST_P(TransportSuite, ReceiveBufferIsTheTransportsMemoryFromItsPost) {
  install_memory_meter();
  this->run([](Transport& t) {
    new_memory_meter().attach();
    const MemoryScope scope(MemoryOwner::activations);
    constexpr std::int64_t bytes = 4 * 16 * 8 * 4;
    if (t.rank() == 1) {
      const OperationId id = t.post({receive_from(t, 0, 0, {4, 16, 8})}).at(0);
      EXPECT_EQ(this_thread_meter().count(MemoryOwner::transport).live, bytes);
      EXPECT_EQ(this_thread_meter().count(MemoryOwner::activations).live, 0);
      t.barrier();
      at::Tensor got = t.wait(id);
      EXPECT_EQ(storage_bytes(got), bytes);
      got.reset();
      EXPECT_EQ(this_thread_meter().count(MemoryOwner::transport).live, 0);
      EXPECT_EQ(this_thread_meter().count(MemoryOwner::transport).peak, bytes);
      EXPECT_EQ(this_thread_meter().count(MemoryOwner::activations).peak, 0);
    } else {
      t.barrier();
      if (t.rank() == 0) t.post({send_to(t, 1, 0, content(0, 0, {4, 16, 8}))});
      t.reap_sends();
    }
  });
}

TYPED_TEST_P(TransportSuite, TrafficIsCountedByPeerDirectionAndSide) {
  this->run([](Transport& t) {
    constexpr auto back = Direction::backward;
    if (t.rank() == 0) {
      const auto ids = t.post({send_to(t, 1, 0, content(0, 0, {2, 3, 4})), send_to(t, 1, 1, content(0, 1, {1, 1, 4})),
                               receive_from(t, 1, 0, {2, 3, 4}, back)});
      t.wait(ids[2]);
    }
    if (t.rank() == 1) {
      const auto ids = t.post({receive_from(t, 0, 0, {2, 3, 4}), receive_from(t, 0, 1, {}),
                               send_to(t, 0, 0, content(1, 0, {2, 3, 4}, back), back)});
      t.wait(ids[0]);
      t.wait(ids[1]);
    }
    t.reap_sends();

    std::vector<std::string> counts;
    for (const TrafficCount& c : t.take_traffic()) {
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
    EXPECT_TRUE(t.take_traffic().empty());
  });
}

TYPED_TEST_P(TransportSuite, GatherBroadcastBarrier) {
  this->run([](Transport& t) {
    for (int round = 0; round < 20; ++round) {
      const std::string own(static_cast<std::size_t>(round * t.rank()), static_cast<char>('a' + t.rank()));
      const std::vector<std::string> all = t.gather(own);
      if (t.rank() == 0) {
        ASSERT_EQ(all.size(), static_cast<std::size_t>(t.world_size()));
        for (int r = 0; r < t.world_size(); ++r) {
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
    EXPECT_TRUE(t.take_traffic().empty());
    EXPECT_EQ(t.batches_posted(), 0);
  });
}

TYPED_TEST_P(TransportSuite, BarrierHoldsEveryoneUntilTheLastComes) {
  this->run([](Transport& t) {
    const auto before = std::chrono::steady_clock::now();
    if (t.rank() == t.world_size() - 1) std::this_thread::sleep_for(60ms);
    t.barrier();
    // Ranks may start a little apart, so only a good part of the sleep is asked for.
    EXPECT_GE(std::chrono::steady_clock::now() - before, 30ms);
  });
}

TYPED_TEST_P(TransportSuite, TiedTensorsGoThereAndBack) {
  this->run([](Transport& t) {
    const int last = t.world_size() - 1;
    at::Tensor gradient = content(t.rank(), 0, {50, 16});
    if (t.rank() == last) {
      t.send_tied(0, gradient);
      t.receive_tied(0, gradient);
    }
    if (t.rank() == 0) {
      at::Tensor other = at::zeros({50, 16});
      t.receive_tied(last, other);
      gradient.add_(other);
      t.send_tied(last, gradient);
    }
    if (t.rank() == 0 || t.rank() == last) {
      EXPECT_TRUE(at::equal(gradient, content(0, 0, {50, 16}).add_(content(last, 0, {50, 16}))));
    }
    EXPECT_TRUE(t.take_traffic().empty());
  });
}

TYPED_TEST_P(TransportSuite, TiedTensorsOfUnequalShapesAreRefused) {
  this->run_broken(short_of_patience, [](Transport& t) {
    if (t.rank() == 1) {
      EXPECT_THROW(t.send_tied(0, content(1, 0, {50, 16})), RunError);
    }
    if (t.rank() == 0) {
      at::Tensor other = at::zeros({16, 50});
      EXPECT_THAT(thrown_by<RunError>([&] { t.receive_tied(1, other); }),
                  AllOf(HasSubstr("from rank 1 to rank 0"), HasSubstr("expected 16x50 float32"), HasSubstr("50x16")));
    }
  });
}

/// One field of the header differs from what the receiver expects.
struct Disagreement {
  std::string field;
  std::function<void(Operation&)> alter;
  std::string expected;
  std::string got;
};

inline std::vector<Disagreement> disagreements() {
  return {
      {"microbatch", [](Operation& o) { o.header.microbatch = 4; }, "F microbatch 3 of step 2", "F microbatch 4 of"},
      {"step", [](Operation& o) { o.header.step = 1; }, "step 2", "step 1"},
      {"stage", [](Operation& o) { o.header.from_stage = 7; }, "stage 0 -> 1", "stage 7 -> 1"},
      {"stage", [](Operation& o) { o.header.to_stage = 6; }, "stage 0 -> 1", "stage 0 -> 6"},
      {"direction", [](Operation& o) { o.header.direction = Direction::backward; }, "expected F", "sent B"},
      {"magic number", [](Operation& o) { o.header.magic = 1; }, "expected F", "sent F"},
      {"dtype",
       [](Operation& o) {
         o.payload = o.payload.to(at::kBFloat16);
         o.header.dtype = static_cast<std::int32_t>(at::kBFloat16);
       },
       "2x5x4 float32", "2x5x4 bfloat16"},
      {"shape",
       [](Operation& o) {
         o.payload = content(0, 3, {2, 4, 4});
         o.header.sizes[1] = 4;
       },
       "2x5x4 float32", "2x4x4 float32"},
      {"shape",  // longer than the buffer: refused by its header, not by the library's truncation
       [](Operation& o) {
         o.payload = content(0, 3, {2, 500, 4});
         o.header.sizes[1] = 500;
       },
       "2x5x4 float32", "2x500x4 float32"},
      {"shape",  // as many elements, another form
       [](Operation& o) {
         o.payload = content(0, 3, {5, 2, 4});
         o.header.sizes = {5, 2, 4, 0};
       },
       "2x5x4 float32", "5x2x4 float32"},
  };
}

TYPED_TEST_P(TransportSuite, DisagreeingHeaderNamesBothEndsExpectedAndGot) {
  for (const Disagreement& disagreement : disagreements()) {
    SCOPED_TRACE(disagreement.field + ", got " + disagreement.got);
    this->run_broken(patient, [&](Transport& t) {
      if (t.rank() == 0) {
        Operation send = send_to(t, 1, 3, content(0, 3, {2, 5, 4}));
        disagreement.alter(send);
        t.post({send});
      }
      if (t.rank() == 1) {
        const OperationId id = t.post({receive_from(t, 0, 3, {2, 5, 4})}).at(0);
        const std::string message = thrown_by<RunError>([&] { t.wait(id); });
        EXPECT_THAT(message,
                    AllOf(HasSubstr("from rank 0 to rank 1"), HasSubstr("differ in the " + disagreement.field + ":")));
        EXPECT_THAT(message, AllOf(HasSubstr(disagreement.expected), HasSubstr(disagreement.got)));
        EXPECT_EQ(message.find("time limit"), std::string::npos);
        // A transport that has failed stays so: its channels may be out of step.
        EXPECT_EQ(thrown_by<RunError>([&] { t.test(id); }), message);
      }
    });
  }
}

TYPED_TEST_P(TransportSuite, UnknownShapeDoesNotExcuseTheOtherFields) {
  this->run_broken(patient, [](Transport& t) {
    if (t.rank() == 0) t.post({send_to(t, 1, 4, content(0, 4, {2, 5, 4}))});
    if (t.rank() == 1) {
      const OperationId id = t.post({receive_from(t, 0, 3, {})}).at(0);
      EXPECT_THAT(thrown_by<RunError>([&] { t.wait(id); }),
                  AllOf(HasSubstr("differ in the microbatch"),
                        HasSubstr("expected F microbatch 3 of step 2, stage 0 -> 1, unknown shape")));
    }
  });
}

TYPED_TEST_P(TransportSuite, SwappedMessagesOfOneEdgeAreFound) {
  this->run_broken(patient, [](Transport& t) {
    if (t.rank() == 0) t.post({send_to(t, 1, 1, content(0, 1, {2, 5, 4})), send_to(t, 1, 0, content(0, 0, {2, 5, 4}))});
    if (t.rank() == 1) {
      const auto ids = t.post({receive_from(t, 0, 0, {2, 5, 4}), receive_from(t, 0, 1, {2, 5, 4})});
      EXPECT_THAT(thrown_by<RunError>([&] { t.wait(ids[1]); }), HasSubstr("microbatch"));
    }
  });
}

TYPED_TEST_P(TransportSuite, PayloadThatIsNotWhatItsHeaderSaysIsNotSent) {
  this->run_broken(patient, [](Transport& t) {
    if (t.rank() != 0) return;
    Operation shorter = send_to(t, 1, 3, content(0, 3, {2, 5, 4}));
    shorter.payload = content(0, 3, {2, 4, 4});
    EXPECT_THAT(
        thrown_by<RunError>([&] { t.post({shorter}); }),
        AllOf(HasSubstr("rank 0, SEND_F microbatch 3 to rank 1, 2x5x4 float32"), HasSubstr("is 2x4x4 float32")));
  });
}

TYPED_TEST_P(TransportSuite, StridedPayloadIsNotSent) {
  this->run_broken(patient, [](Transport& t) {
    if (t.rank() != 0) return;
    const Operation strided = send_to(t, 1, 3, content(0, 3, {2, 5, 4}).transpose(0, 1));
    EXPECT_THAT(thrown_by<RunError>([&] { t.post({strided}); }), HasSubstr("not contiguous"));
  });
}

TYPED_TEST_P(TransportSuite, DeadlineNamesTheReceiveThatNobodyAnswers) {
  this->run_broken(hasty, [](Transport& t) {
    if (t.rank() != 1) return;
    const OperationId id = t.post({receive_from(t, 0, 3, {64, 128, 512})}).at(0);
    const auto before = std::chrono::steady_clock::now();
    const std::string message = thrown_by<DeadlineError>([&] { t.wait(id); });
    const auto waited = std::chrono::steady_clock::now() - before;
    EXPECT_THAT(message, HasSubstr("rank 1 waits for RECV_F microbatch 3 from rank 0, 64x128x512 float32, 0.1 s"));
    EXPECT_GE(waited, hasty.timeout);
    EXPECT_LT(waited, hasty.timeout + 1s);
  });
}

TYPED_TEST_P(TransportSuite, DeadlineNamesTheSendThatNobodyTakes) {
  this->run_broken(hasty, [](Transport& t) {
    if (t.rank() != 0) return;
    t.post({send_to(t, 1, 2, content(0, 2, {1, 2, 4}, Direction::backward), Direction::backward)});
    EXPECT_THAT(thrown_by<DeadlineError>([&] { t.reap_sends(); }),
                HasSubstr("rank 0 waits for SEND_B microbatch 2 to rank 1, 1x2x4 float32"));
  });
}

TYPED_TEST_P(TransportSuite, DeadlineOfControlCallsNamesCallAndRank) {
  this->run_broken(hasty, [](Transport& t) {
    if (t.rank() == 1) return;
    const std::string message = thrown_by<DeadlineError>([&] {
      t.gather("here");
      t.barrier();
    });
    if (t.rank() == 0) {
      EXPECT_THAT(message, HasSubstr("rank 0 waits for gather (control message 0) from rank 1, 0.1 s"));
    }
    if (t.rank() == 2) {
      EXPECT_THAT(message, HasSubstr("rank 2 waits for"));
    }
  });
}

TYPED_TEST_P(TransportSuite, DeadlineOfATiedTensorNamesTheRank) {
  this->run_broken(hasty, [](Transport& t) {
    if (t.rank() != 1) return;
    at::Tensor tensor = at::zeros({3});
    EXPECT_THAT(thrown_by<DeadlineError>([&] { t.receive_tied(0, tensor); }),
                HasSubstr("rank 1 waits for tied tensor (control message 0) from rank 0"));
  });
}

TYPED_TEST_P(TransportSuite, SlowIsNotLate) {
  this->run([](Transport& t) {
    if (t.rank() == 0) {
      std::this_thread::sleep_for(300ms);
      t.post({send_to(t, 1, 0, content(0, 0, {1, 2, 4}))});
    }
    if (t.rank() == 1) {
      EXPECT_TRUE(at::equal(t.wait(t.post({receive_from(t, 0, 0, {1, 2, 4})}).at(0)), content(0, 0, {1, 2, 4})));
    }
    t.reap_sends();
  });
}

TYPED_TEST_P(TransportSuite, ControlCallsOutOfStepAreNamed) {
  this->run_broken(short_of_patience, [](Transport& t) {
    if (t.rank() == 0) {
      EXPECT_THAT(thrown_by<RunError>([&] { t.gather(""); }),
                  AllOf(HasSubstr("rank 0 expected gather"), HasSubstr("from rank 1, which sent barrier")));
    } else {
      EXPECT_THROW(t.barrier(), RunError);
    }
  });
}

TYPED_TEST_P(TransportSuite, OpenOperationsAreNoCleanEnd) {
  this->run_broken(patient, [](Transport& t) {
    if (t.rank() != 1) return;
    t.post({receive_from(t, 0, 3, {1, 2, 4})});
    EXPECT_THAT(thrown_by<RunError>([&] { t.finish(); }),
                AllOf(HasSubstr("rank 1 ends with 1 operations open"), HasSubstr("RECV_F microbatch 3 from rank 0")));
  });
}

TYPED_TEST_P(TransportSuite, MisuseIsAnInvariantBroken) {
  this->run_broken(patient, [](Transport& t) {
    Operation to_itself = send_to(t, t.rank(), 0, content(0, 0, {1, 2, 4}));
    EXPECT_THROW(t.post({to_itself}), std::logic_error);
    EXPECT_THROW(t.post({receive_from(t, t.world_size(), 0, {1, 2, 4})}), std::logic_error);
    EXPECT_THROW(t.wait(12), std::logic_error);
    if (t.rank() == 0) t.post({send_to(t, 1, 0, content(0, 0, {1, 2, 4}))});
    if (t.rank() == 1) {
      const OperationId id = t.post({receive_from(t, 0, 0, {1, 2, 4})}).at(0);
      t.wait(id);
      EXPECT_THROW(t.wait(id), std::logic_error);
    }
    t.reap_sends();
  });
}

// The same edge for many steps, with jitter: what is rare otherwise gets its chance.
TYPED_TEST_P(TransportSuite, ManyRoundsWithJitter) {
  this->run([](Transport& t) {
    const int next = (t.rank() + 1) % t.world_size();
    const int previous = (t.rank() + t.world_size() - 1) % t.world_size();
    for (int round = 0; round < 150; ++round) {
      const at::DimVector shape = {1, 1 + (round * 13) % 29, 4};
      const int m = round % 40;
      if ((round * 7 + t.rank() * 3) % 11 == 0) std::this_thread::sleep_for(std::chrono::microseconds(200));
      const auto ids = t.post({receive_from(t, previous, m, round % 3 == 0 ? at::DimVector{} : shape),
                               send_to(t, next, m, content(t.rank(), m, shape))});
      ASSERT_TRUE(at::equal(t.wait(ids[0]), content(previous, m, shape))) << "round " << round;
    }
    t.reap_sends();
  });
}

REGISTER_TYPED_TEST_SUITE_P(
    TransportSuite, Ring, BothDirectionsAtOnceWithTheSamePeer, GrowingAndShrinkingShapesDownTheLine, OneTokenOfOneRow,
    UnknownShapesKeepTheirPlaceAmongKnownOnes, BatchOfManyWaitedForBackwards, LargePayloadsBothWays, OtherDtypes,
    SendEndsOnlyWhenItIsReceived, SentTensorIsKeptUntilTakenThenDropped, ReceiveBufferIsTheTransportsMemoryFromItsPost,
    TrafficIsCountedByPeerDirectionAndSide, GatherBroadcastBarrier, BarrierHoldsEveryoneUntilTheLastComes,
    TiedTensorsGoThereAndBack, TiedTensorsOfUnequalShapesAreRefused, DisagreeingHeaderNamesBothEndsExpectedAndGot,
    UnknownShapeDoesNotExcuseTheOtherFields, SwappedMessagesOfOneEdgeAreFound,
    PayloadThatIsNotWhatItsHeaderSaysIsNotSent, StridedPayloadIsNotSent, DeadlineNamesTheReceiveThatNobodyAnswers,
    DeadlineNamesTheSendThatNobodyTakes, DeadlineOfControlCallsNamesCallAndRank, DeadlineOfATiedTensorNamesTheRank,
    SlowIsNotLate, ControlCallsOutOfStepAreNamed, OpenOperationsAreNoCleanEnd, MisuseIsAnInvariantBroken,
    ManyRoundsWithJitter);

}  // namespace plumbline
