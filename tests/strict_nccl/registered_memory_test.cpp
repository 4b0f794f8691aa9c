// Registered memory: every message in it, segments that come and go, all ranks or none; and each mistake found.
#include "pipeline/transport/nccl/registered_memory.hpp"

#include <ATen/ops/empty.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/full.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>

#include "pipeline/transport/operation.hpp"
#include "pipeline/transport/registered_buffers.hpp"
#include "tests/pipeline/transport/ranks.hpp"
#include "tests/strict_nccl/mistakes.hpp"
#include "tests/strict_nccl/strict_run.hpp"

namespace plumbline::strict {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr int rounds = 12;

/// All ranks of a ring send to the next one and receive from the one before, each round another shape, in new memory.
void ring(Transport& t) {
  const int next = (t.rank() + 1) % t.world_size(), before = (t.rank() + t.world_size() - 1) % t.world_size();
  for (int round = 0; round < rounds; ++round) {
    const std::vector<std::int64_t> shape = {2, 1 + 3 * round, 40 * (1 + t.world_size())};
    std::vector<Operation> batch = {send_to(t, next, round, content(t.rank(), round, shape)),
                                    receive_from(t, before, round, shape)};
    const auto ids = t.post(std::move(batch));
    EXPECT_TRUE(at::equal(t.wait(ids[1]), content(before, round, shape)));
    t.reap_sends();
  }
}

struct Seen {
  Outcome outcome;
  std::vector<std::optional<RegisteredBuffers>> buffers;
};

Seen run_ring(RunOptions options) {
  Seen seen;
  seen.buffers.resize(static_cast<std::size_t>(options.ranks));
  seen.outcome = run_strict(options, [&](Transport& t) {
    const at::Tensor stays = at::empty({1});
    ring(t);
    seen.buffers[static_cast<std::size_t>(t.rank())] = t.registered_buffers();
  });
  return seen;
}

class AtWorld : public ::testing::TestWithParam<int> {};

TEST_P(AtWorld, EveryMessageLiesInRegisteredMemoryWhileSegmentsComeAndGo) {
  const Seen seen = run_ring({.ranks = GetParam()});

  EXPECT_THAT(all_words(seen.outcome), ::testing::MatchesRegex("\n*"));
  EXPECT_THAT(seen.outcome.leftovers, IsEmpty());
  for (const auto& buffers : seen.buffers) {
    ASSERT_TRUE(buffers);
    EXPECT_EQ(buffers->why_not, "");
    EXPECT_GT(buffers->segments, 0);
    EXPECT_GE(buffers->bytes, 65536 * buffers->segments);
    EXPECT_GT(buffers->given_back, 3) << "segments that vanished in the middle";
  }
}

INSTANTIATE_TEST_SUITE_P(Registered, AtWorld, ::testing::Range(2, 9));

void expect_none_registered(const Seen& seen, const std::string& why_not) {
  EXPECT_THAT(all_words(seen.outcome), ::testing::MatchesRegex("\n*"));
  for (const auto& buffers : seen.buffers) {
    ASSERT_TRUE(buffers);
    EXPECT_THAT(buffers->why_not, HasSubstr(why_not));
    EXPECT_EQ(buffers->segments, 0);
  }
}

TEST(Registered, NoneRegistersWhereTheVersionCannot) {
  Settings old;
  old.versions = {21805};

  expect_none_registered(run_ring({.ranks = 3, .behaviour = old}), "rank 0: NCCL 2.18.5 cannot; 2.19.0 and newer can");
}

TEST(Registered, NoneRegistersWhereOneRankCannot) {
  Settings off, grows, refused;
  off.registers_nothing_on = {2};
  grows.expandable_segments_on = {1};
  refused.registrations_before_refusal = {{1, 0}};

  expect_none_registered(run_ring({.ranks = 3, .behaviour = off}), "rank 2: NCCL takes no registration");
  expect_none_registered(run_ring({.ranks = 3, .behaviour = grows}), "rank 1: expandable_segments");
  expect_none_registered(run_ring({.ranks = 3, .behaviour = refused}),
                         "rank 1: ncclCommRegister: unhandled cuda error (planted)");
}

TEST(Registered, ARefusalAfterTheStartEndsTheRunAndSaysWhatToDo) {
  Settings behaviour;
  behaviour.registrations_before_refusal = {{1, 13}};

  const Seen seen = run_ring({.behaviour = behaviour});

  EXPECT_THAT(
      seen.outcome.errors[1],
      AllOf(HasSubstr("rank 1: the NCCL communicator of ranks 0 and 1, forward has registered memory and cannot "
                      "register more: ncclCommRegister: unhandled cuda error (planted)"),
            HasSubstr("NCCL_LOCAL_REGISTER=0 on all ranks")));
  EXPECT_THAT(seen.outcome.leftovers, IsEmpty());
}

TEST(Registered, AFailedRunFreesItsMemoryAfterItsCommunicators) {
  const Outcome outcome = run_strict({}, [](Transport& t) {
    if (t.rank() == 1) throw RunError("planted");
    t.wait(t.post({receive_from(t, 1, 0, {2, 3, 4})}).at(0));
  });

  EXPECT_THAT(outcome.errors[0], HasSubstr("rank 1 ended the run: planted"));
  EXPECT_THAT(outcome.findings, IsEmpty());
  EXPECT_THAT(outcome.leftovers, IsEmpty());
}

/// NCCL is still putting a group on its stream, with a thread of its own, while memory goes back to CUDA.
TEST(Registered, ASegmentThatVanishesWaitsForAGroupThatIsStarting) {
  Settings slow;
  slow.busy_answers = 50;
  const Outcome outcome = run_strict({.behaviour = slow}, [](Transport& t) {
    for (int round = 0; round < 4; ++round) {
      at::Tensor elsewhere = at::empty({1 << 16});  // a segment of its own
      const int peer = 1 - t.rank();
      const auto ids = t.post(
          {send_to(t, peer, round, content(t.rank(), round, {2, 7, 4})), receive_from(t, peer, round, {2, 7, 4})});
      elsewhere.reset();
      EXPECT_TRUE(at::equal(t.wait(ids[1]), content(peer, round, {2, 7, 4})));
      t.reap_sends();
    }
  });

  EXPECT_THAT(all_words(outcome), ::testing::MatchesRegex("\n*"));
}

// The mistakes.

/// What the ring says when rank 1's registrations go through `Mistake`.
template <typename Mistake>
std::string words_with() {
  return all_words(run_ring({.seam = plant_nccl<Mistake>({1})}).outcome);
}

/// Registers within the group whose messages need it.
class RegistersInGroup : public ForwardingNccl {
 public:
  using ForwardingNccl::ForwardingNccl;
  void send(const void* data, std::size_t count, NcclType type, int peer, NcclCommunicator communicator,
            GpuStream stream) override {
    if (count != 4096) inner_.register_memory(communicator, const_cast<void*>(data), count);
    inner_.send(data, count, type, peer, communicator, stream);
  }
};

TEST(RegisteredMistakes, RegisteringWithinAGroupAndTwiceAreFound) {
  EXPECT_THAT(words_with<RegistersInGroup>(), AllOf(HasSubstr("rank 1 registers memory within a group"),
                                                    HasSubstr("rank 1 registers memory that is registered")));
}

class DeregistersInGroup : public ForwardingNccl {
 public:
  using ForwardingNccl::ForwardingNccl;
  std::optional<NcclRegistration> register_memory(NcclCommunicator communicator, void* data,
                                                  std::size_t bytes) override {
    last_ = inner_.register_memory(communicator, data, bytes);
    of_ = communicator;
    return last_;
  }
  NcclProgress group_end() override {
    if (last_) inner_.deregister(of_, *last_);
    last_.reset();
    return inner_.group_end();
  }

 private:
  std::optional<NcclRegistration> last_;
  NcclCommunicator of_ = NcclCommunicator::none;
};

TEST(RegisteredMistakes, DeregisteringWithinAGroupAndTwiceAreFound) {
  EXPECT_THAT(words_with<DeregistersInGroup>(), AllOf(HasSubstr("rank 1 deregisters memory within a group"),
                                                      HasSubstr("rank 1 deregisters memory that is not registered")));
}

class NeverDeregisters : public ForwardingNccl {
 public:
  using ForwardingNccl::ForwardingNccl;
  void deregister(NcclCommunicator /*communicator*/, NcclRegistration /*registration*/) noexcept override {}
};

TEST(RegisteredMistakes, FreedAndFinalisedWithRegistrationsLeftAreFound) {
  EXPECT_THAT(words_with<NeverDeregisters>(),
              AllOf(HasSubstr("rank 1 frees memory that is still registered"),
                    ::testing::ContainsRegex("rank 1 finalises a communicator that has [0-9]+ registrations left")));
}

/// Keeps deregistrations back until the communicator is on its way out, or gone.
template <bool gone>
class DeregistersLate : public ForwardingNccl {
 public:
  using ForwardingNccl::ForwardingNccl;
  void deregister(NcclCommunicator communicator, NcclRegistration registration) noexcept override {
    kept_.emplace_back(communicator, registration);
  }
  void finalize(NcclCommunicator communicator) override {
    inner_.finalize(communicator);
    if (!gone) give();
  }
  void destroy(NcclCommunicator communicator) noexcept override {
    inner_.destroy(communicator);
    if (gone) give();
  }

 private:
  void give() {
    for (const auto& [communicator, registration] : kept_) inner_.deregister(communicator, registration);
    kept_.clear();
  }
  std::vector<std::pair<NcclCommunicator, NcclRegistration>> kept_;
};

TEST(RegisteredMistakes, DeregisteringAfterTheEndIsFound) {
  EXPECT_THAT(words_with<DeregistersLate<false>>(),
              HasSubstr("rank 1 deregisters memory with a communicator that is finalised"));
  EXPECT_THAT(words_with<DeregistersLate<true>>(),
              HasSubstr("rank 1 deregisters memory with a communicator that is gone"));
}

/// The first half of each segment.
class RegistersTooLittle : public ForwardingNccl {
 public:
  using ForwardingNccl::ForwardingNccl;
  std::optional<NcclRegistration> register_memory(NcclCommunicator communicator, void* data,
                                                  std::size_t /*bytes*/) override {
    return inner_.register_memory(communicator, data, 64);
  }
};

TEST(RegisteredMistakes, AMessageFromOtherMemoryIsFoundAndSoIsItsRegisteredPeer) {
  EXPECT_THAT(
      words_with<RegistersTooLittle>(),
      AllOf(::testing::ContainsRegex("the memory of rank 1's send of [0-9]+ float32 to rank 0 is not registered, "
                                     "and other memory is"),
            HasSubstr("NCCL does not define what that does")));
}

/// Says that a communicator is idle when it is not.
class NeverBusy : public ForwardingNccl {
 public:
  using ForwardingNccl::ForwardingNccl;
  NcclProgress group_end() override {
    const NcclProgress progress = inner_.group_end();
    starting_ = progress == NcclProgress::busy;
    return progress;
  }
  NcclState state(NcclCommunicator communicator) override {
    return starting_ && vanishing_ ? NcclState{} : inner_.state(communicator);
  }
  static inline thread_local bool vanishing_ = false;

 private:
  bool starting_ = false;
};

TEST(RegisteredMistakes, DeregisteringUnderAGroupThatIsStartingIsFound) {
  Settings slow;
  slow.busy_answers = 50;
  const Outcome outcome = run_strict({.behaviour = slow, .seam = plant_nccl<NeverBusy>({1})}, [](Transport& t) {
    at::Tensor elsewhere = at::empty({1 << 16});
    const int peer = 1 - t.rank();
    // the first makes the registration of the segment, the second is starting when it vanishes
    for (int round = 0; round < 2; ++round) {
      const auto ids = t.post(
          {send_to(t, peer, round, content(t.rank(), round, {2, 7, 4})), receive_from(t, peer, round, {2, 7, 4})});
      NeverBusy::vanishing_ = true;
      elsewhere.reset();
      NeverBusy::vanishing_ = false;
      t.wait(ids[1]);
      t.reap_sends();
    }
  });

  EXPECT_THAT(outcome.findings, Contains(HasSubstr("rank 1 deregisters memory while the communicator is busy")));
}

/// A transport that looks away: a segment that it was never told of.
class HidesSegments : public AllocatorSegments, private SegmentWatcher {
 public:
  explicit HidesSegments(AllocatorSegments& inner) : inner_(inner) {}
  std::string why_not() override { return inner_.why_not(); }
  void watch(c10::Device device, SegmentWatcher& watcher) override {
    told_ = &watcher;
    inner_.watch(device, *this);
    hiding_ = true;
  }
  void unwatch(SegmentWatcher& /*watcher*/) noexcept override { inner_.unwatch(*this); }

 private:
  void segment_appeared(const void* begin, std::size_t bytes) noexcept override {
    if (!hiding_) told_->segment_appeared(begin, bytes);
  }
  void segment_vanishes(const void* begin) noexcept override { told_->segment_vanishes(begin); }

  AllocatorSegments& inner_;
  SegmentWatcher* told_ = nullptr;
  bool hiding_ = false;
};

TEST(RegisteredMistakes, TheTransportItselfRefusesAMessageOutsideOfWhatIsRegistered) {
  std::optional<HidesSegments> hides;
  const GpuSeam seam = [&](int rank, GpuApi inner) {
    if (rank != 1) return inner;
    return GpuApi{inner.cuda, inner.nccl, &hides.emplace(*inner.segments)};
  };

  const Outcome outcome = run_strict({.seam = seam}, ring);

  EXPECT_THAT(outcome.errors[1], HasSubstr("a message of rank 1 lies outside of what the NCCL communicator of ranks 0 "
                                           "and 1, forward has registered"));
}

}  // namespace
}  // namespace plumbline::strict
