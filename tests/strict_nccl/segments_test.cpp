// Which segments are registered with which communicator: by hand, without messages.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cstddef>

#include "pipeline/transport/nccl/registered_memory.hpp"
#include "tests/strict_nccl/forwarding_gpu.hpp"
#include "tests/strict_nccl/strict_world.hpp"

namespace plumbline::strict {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

constexpr auto first = static_cast<NcclCommunicator>(1);
constexpr auto second = static_cast<NcclCommunicator>(2);

/// An allocator that says what the test has it say.
class ToldSegments : public AllocatorSegments {
 public:
  std::string why_not() override { return {}; }
  void watch(c10::Device /*device*/, SegmentWatcher& watcher) override { told = &watcher; }
  void unwatch(SegmentWatcher& /*watcher*/) noexcept override { told = nullptr; }

  SegmentWatcher* told = nullptr;
};

/// Takes every registration.
class TakesAll : public ForwardingNccl {
 public:
  using ForwardingNccl::ForwardingNccl;
  NcclState state(NcclCommunicator /*communicator*/) override {
    if (failed) throw GpuError("ncclCommGetAsyncError", "planted");
    return {};
  }
  std::optional<NcclRegistration> register_memory(NcclCommunicator communicator, void* data,
                                                  std::size_t bytes) override {
    registered.emplace_back(communicator, data, bytes);
    return static_cast<NcclRegistration>(registered.size());
  }
  void deregister(NcclCommunicator communicator, NcclRegistration registration) noexcept override {
    deregistered.emplace_back(communicator, registration);
  }

  bool failed = false;
  std::vector<std::tuple<NcclCommunicator, void*, std::size_t>> registered;
  std::vector<std::pair<NcclCommunicator, NcclRegistration>> deregistered;
};

class Segments : public ::testing::Test {
 protected:
  bool covers(NcclCommunicator communicator, const std::byte* data, std::size_t bytes) {
    const auto held = memory.hold();
    return memory.covers(communicator, data, bytes);
  }

  std::array<std::byte, 1000> room{};
  std::byte* const low = room.data() + 100;
  std::byte* const high = room.data() + 500;
  StrictWorld world{1};
  TakesAll nccl{world.gpu(0).nccl};
  ToldSegments segments;
  RegisteredMemory memory{nccl, segments, at::kCPU};
};

TEST_F(Segments, AMessageIsCoveredByOneSegmentThatHoldsAllOfIt) {
  segments.told->segment_appeared(low, 50);
  segments.told->segment_appeared(high, 60);
  memory.register_with(first);

  EXPECT_TRUE(covers(first, low, 50));
  EXPECT_TRUE(covers(first, low + 10, 40));
  EXPECT_TRUE(covers(first, high, 60));
  EXPECT_FALSE(covers(first, low, 51)) << "it ends behind the segment";
  EXPECT_FALSE(covers(first, low + 10, 41));
  EXPECT_FALSE(covers(first, low + 51, 1)) << "it begins behind it";
  EXPECT_FALSE(covers(first, low + 60, 8));
  EXPECT_FALSE(covers(first, low - 1, 8)) << "it begins before all segments";
  EXPECT_FALSE(covers(second, low, 50)) << "registered with another communicator";
}

TEST_F(Segments, EachIsRegisteredOnceWithEachCommunicator) {
  segments.told->segment_appeared(low, 50);
  memory.register_with(first);
  memory.register_with(second);
  memory.register_with(first);
  segments.told->segment_appeared(high, 60);
  memory.register_with(first);

  EXPECT_THAT(nccl.registered,
              ElementsAre(std::tuple(first, low, 50), std::tuple(second, low, 50), std::tuple(first, high, 60)));
  EXPECT_EQ(memory.count().segments, 2);
  EXPECT_EQ(memory.count().bytes, 110);
}

TEST_F(Segments, OneThatVanishesIsTakenBackFromAllThatHaveIt) {
  segments.told->segment_appeared(low, 50);
  segments.told->segment_appeared(high, 60);
  memory.register_with(first);
  memory.register_with(second);
  segments.told->segment_vanishes(low);

  EXPECT_THAT(nccl.deregistered,
              UnorderedElementsAre(std::pair(first, NcclRegistration(1)), std::pair(second, NcclRegistration(3))));
  EXPECT_EQ(memory.count().segments, 1);
  EXPECT_EQ(memory.count().bytes, 60);
  EXPECT_EQ(memory.count().vanished, 1);
}

TEST_F(Segments, OneThatWasNotRegisteredIsNotCountedAsGivenBack) {
  segments.told->segment_appeared(low, 50);
  segments.told->segment_vanishes(low);
  memory.register_with(first);

  EXPECT_THAT(nccl.registered, IsEmpty());
  EXPECT_EQ(memory.count().vanished, 0);
}

TEST_F(Segments, ACommunicatorThatHasFailedStillGivesItsMemoryBack) {
  segments.told->segment_appeared(low, 50);
  memory.register_with(first);
  nccl.failed = true;
  segments.told->segment_vanishes(low);

  EXPECT_THAT(nccl.deregistered, ElementsAre(std::pair(first, NcclRegistration(1))));
}

// A new communicator may have the handle of one that is gone.
TEST_F(Segments, AreRegisteredAgainWithACommunicatorThatHadThem) {
  segments.told->segment_appeared(low, 50);
  memory.register_with(first);
  memory.deregister_all(first);
  EXPECT_FALSE(covers(first, low, 50));
  memory.register_with(first);
  EXPECT_TRUE(covers(first, low, 50));
  memory.forget(first);
  EXPECT_FALSE(covers(first, low, 50));
  memory.register_with(first);
  EXPECT_TRUE(covers(first, low, 50));

  EXPECT_EQ(nccl.registered.size(), 3U);
  EXPECT_EQ(nccl.deregistered.size(), 1U) << "what is forgotten is not taken back";
}

TEST_F(Segments, NobodyIsToldAnyMoreWhenTheMemoryIsGone) {
  { const RegisteredMemory other(nccl, segments, at::kCPU); }
  EXPECT_EQ(segments.told, nullptr);
}

}  // namespace
}  // namespace plumbline::strict
