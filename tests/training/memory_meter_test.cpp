// SPDX-License-Identifier: BSD-3-Clause
#include "training/memory_meter.hpp"

#include <ATen/Tensor.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/from_blob.h>
#include <gtest/gtest.h>
#include <malloc.h>

#include <algorithm>
#include <array>
#include <thread>
#include <utility>
#include <vector>

namespace plumbline {
namespace {

at::Tensor floats(std::int64_t count) {
  return at::empty({count}, at::kFloat);
}

/// A separate meter for each test: allocations of other tests do not count.
class MemoryMeterTest : public ::testing::Test {
 protected:
  void SetUp() override { meter_.attach(); }
  std::int64_t live(MemoryOwner owner) const { return meter_.count(owner).live; }
  std::int64_t peak(MemoryOwner owner) const { return meter_.count(owner).peak; }

  MemoryMeter& meter_ = new_memory_meter();
};

TEST_F(MemoryMeterTest, CountsTheRequestedBytes) {
  const at::Tensor three = floats(3);
  const at::Tensor longs = at::empty({5, 7}, at::kLong);

  EXPECT_EQ(live(MemoryOwner::other), 3 * 4 + 35 * 8);
  EXPECT_EQ(meter_.total().live, 3 * 4 + 35 * 8);
  EXPECT_EQ(storage_bytes(three), 12);
}

TEST_F(MemoryMeterTest, FreeingLowersLiveAndKeepsThePeak) {
  at::Tensor first = floats(100);
  first.reset();
  at::Tensor second = floats(60);

  EXPECT_EQ(live(MemoryOwner::other), 240);
  EXPECT_EQ(peak(MemoryOwner::other), 400);
  EXPECT_EQ(meter_.total().peak, 400);

  meter_.reset_peak(MemoryOwner::other);
  meter_.reset_total_peak();

  EXPECT_EQ(peak(MemoryOwner::other), 240);
  EXPECT_EQ(meter_.total().peak, 240);
}

TEST_F(MemoryMeterTest, ScopesNest) {
  std::vector<at::Tensor> kept;
  {
    const MemoryScope outer(MemoryOwner::activations);
    kept.push_back(floats(1));
    {
      const MemoryScope inner(MemoryOwner::recorder);
      kept.push_back(floats(10));
    }
    kept.push_back(floats(100));
  }
  kept.push_back(floats(1000));

  EXPECT_EQ(live(MemoryOwner::activations), 404);
  EXPECT_EQ(live(MemoryOwner::recorder), 40);
  EXPECT_EQ(live(MemoryOwner::other), 4000);
  EXPECT_EQ(meter_.total().live, 4444);
}

TEST_F(MemoryMeterTest, TheTotalsPeakIsNotTheSumOfPeaks) {
  at::Tensor first = floats(100);
  first.reset();
  const MemoryScope scope(MemoryOwner::data);
  const at::Tensor second = floats(70);

  EXPECT_EQ(meter_.total().peak, 400);
}

TEST_F(MemoryMeterTest, RetagMovesOneStorage) {
  const at::Tensor tensor = floats(25);
  const at::Tensor view = tensor.slice(0, 5, 10);

  retag(view, MemoryOwner::transport);

  EXPECT_EQ(live(MemoryOwner::other), 0);
  EXPECT_EQ(live(MemoryOwner::transport), 100) << "a view shares its storage: all of it moves";
  EXPECT_EQ(peak(MemoryOwner::transport), 100);
  EXPECT_EQ(meter_.total().live, 100);
  EXPECT_EQ(meter_.total().peak, 100) << "another owner is no new memory";
}

TEST_F(MemoryMeterTest, ARetaggedStorageIsFreedFromItsNewOwner) {
  at::Tensor tensor = floats(25);
  retag(tensor, MemoryOwner::parameters);

  tensor.reset();

  EXPECT_EQ(live(MemoryOwner::parameters), 0);
  EXPECT_EQ(live(MemoryOwner::other), 0);
  EXPECT_EQ(meter_.total().live, 0);
}

TEST_F(MemoryMeterTest, RetagByAnotherRankMovesItToThatRank) {
  const at::Tensor tensor = floats(25);
  MemoryMeter& peer = new_memory_meter();

  std::thread([&] {
    peer.attach();
    retag(tensor, MemoryOwner::activations);
  }).join();

  EXPECT_EQ(meter_.total().live, 0);
  EXPECT_EQ(live(MemoryOwner::other), 0);
  EXPECT_EQ(peer.total().live, 100);
  EXPECT_EQ(peer.count(MemoryOwner::activations).live, 100);
}

TEST_F(MemoryMeterTest, SubtractsFromTheReceivingRank) {
  at::Tensor tensor = floats(25);
  MemoryMeter& peer = new_memory_meter();
  std::thread([&] {
    peer.attach();
    retag(tensor, MemoryOwner::activations);
  }).join();

  tensor.reset();

  EXPECT_EQ(meter_.total().live, 0);
  EXPECT_EQ(live(MemoryOwner::activations), 0);
  EXPECT_EQ(peer.total().live, 0);
  EXPECT_EQ(peer.count(MemoryOwner::activations).live, 0);
}

TEST_F(MemoryMeterTest, SubtractsFromTheAllocatingRank) {
  at::Tensor tensor = floats(25);
  MemoryMeter& peer = new_memory_meter();

  std::thread([&] {
    peer.attach();
    tensor.reset();
  }).join();

  EXPECT_EQ(meter_.total().live, 0);
  EXPECT_EQ(peer.total().live, 0);
  EXPECT_EQ(peer.total().peak, 0);
}

TEST_F(MemoryMeterTest, CountsRanksSeparately) {
  constexpr int ranks = 4;
  constexpr int rounds = 500;
  std::array<MemoryMeter*, ranks> meters{};
  std::array<std::vector<at::Tensor>, ranks> made;
  {
    std::vector<std::jthread> threads;
    for (std::size_t rank = 0; rank < ranks; ++rank) {
      meters[rank] = &new_memory_meter();
      threads.emplace_back([&, rank] {
        meters[rank]->attach();
        for (int i = 0; i < rounds; ++i) made[rank].push_back(floats(static_cast<std::int64_t>(rank) + 1));
      });
    }
  }
  for (std::size_t rank = 0; rank < ranks; ++rank) {
    EXPECT_EQ(meters[rank]->total().live, rounds * 4 * (static_cast<std::int64_t>(rank) + 1));
  }

  // Every rank frees its neighbor's tensors while the neighbor frees the next one's.
  {
    std::vector<std::jthread> threads;
    for (std::size_t rank = 0; rank < ranks; ++rank) {
      threads.emplace_back([&, rank] { made[(rank + 1) % ranks].clear(); });
    }
  }

  for (const MemoryMeter* meter : meters) EXPECT_EQ(meter->total().live, 0);
}

TEST_F(MemoryMeterTest, GivesAnUnattachedThreadItsOwnMeter) {
  std::int64_t counted = 0;
  std::thread([&] {
    const at::Tensor tensor = floats(9);
    counted = this_thread_meter().total().live;
  }).join();

  EXPECT_EQ(counted, 36);
  EXPECT_EQ(meter_.total().peak, 0);
}

TEST_F(MemoryMeterTest, CountsUnattachedThreadsSeparately) {
  std::array<std::int64_t, 2> counted{};
  std::vector<at::Tensor> kept(2);
  for (std::size_t i = 0; i < 2; ++i) {
    std::thread([&] {
      kept[i] = floats(9);
      counted[i] = this_thread_meter().total().live;
    }).join();
  }

  EXPECT_EQ(counted[0], 36);
  EXPECT_EQ(counted[1], 36) << "without the other's, which is still alive";
}

TEST_F(MemoryMeterTest, DataIsAlignedAsLibTorchRequires) {
  for (const std::int64_t count : {1, 3, 17, 1000, 100003}) {
    const at::Tensor tensor = floats(count);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(tensor.const_data_ptr()) % 64, 0U) << count;
  }
}

TEST_F(MemoryMeterTest, EmptyTensorsCostNothing) {
  const at::Tensor empty = floats(0);

  EXPECT_EQ(meter_.total().peak, 0);
  EXPECT_EQ(storage_bytes(empty), 0);
  retag(empty, MemoryOwner::data);
  EXPECT_EQ(live(MemoryOwner::data), 0);
}

TEST_F(MemoryMeterTest, ATensorOfOneByteHasMemory) {
  const at::Tensor one = at::empty({1}, at::kByte);

  EXPECT_NE(one.const_data_ptr(), nullptr);
  EXPECT_EQ(storage_bytes(one), 1);
  EXPECT_EQ(meter_.total().live, 1);
}

TEST_F(MemoryMeterTest, ReturnsFreedMemoryToTheSystem) {
#ifdef __SANITIZE_ADDRESS__
  GTEST_SKIP() << "AddressSanitizer has its own allocator, which mallinfo does not count";
#endif
  constexpr std::int64_t count = std::int64_t{1} << 18;
  const auto taken = [] {
    const auto all = mallinfo2();
    return static_cast<std::int64_t>(all.uordblks + all.hblkhd);
  };
  const std::int64_t before = taken();

  for (int i = 0; i < 8; ++i) floats(count);

  EXPECT_LT(taken() - before, 4 * count) << "less than one of the eight tensors";
}

TEST_F(MemoryMeterTest, IgnoresMemoryOfOtherAllocators) {
  std::array<float, 4> own{};
  const at::Tensor foreign = at::from_blob(own.data(), {4}, at::kFloat);

  EXPECT_EQ(storage_bytes(foreign), 0);
  EXPECT_EQ(storage_bytes(at::Tensor()), 0);
  retag(foreign, MemoryOwner::transport);
  retag(at::Tensor(), MemoryOwner::transport);
  EXPECT_EQ(meter_.total().peak, 0);
}

// The bytes before the tensor belong to the other allocator, so the meter must not read a size from them.
TEST_F(MemoryMeterTest, IgnoresAllocatorsWithAContext) {
  std::array<std::int64_t, 16> block{};
  block.fill(7);
  void* data = &block[8];
  c10::Storage storage(c10::Storage::use_byte_size_t(), 16,
                       c10::DataPtr(
                           data, data, [](void*) {}, c10::Device(c10::kCPU)),
                       nullptr, /*resizable=*/false);
  const auto foreign = at::detail::make_tensor<c10::TensorImpl>(
      std::move(storage), c10::DispatchKeySet(c10::DispatchKey::CPU), caffe2::TypeMeta::Make<float>());

  EXPECT_EQ(storage_bytes(foreign), 0);
}

TEST_F(MemoryMeterTest, KernelScratchIsCounted) {
  const at::Tensor left = floats(1000);
  const at::Tensor right = floats(1000);
  meter_.reset_total_peak();

  const at::Tensor sum = left.add(right).mul(right);

  EXPECT_EQ(meter_.total().live, 3 * 4000);
  EXPECT_EQ(meter_.total().peak, 4 * 4000) << "the intermediate sum exists at the same time as operands and result";
}

TEST_F(MemoryMeterTest, InstallingAgainChangesNothing) {
  const at::Tensor before = floats(5);

  install_memory_meter();
  const at::Tensor after = floats(5);

  EXPECT_EQ(meter_.total().live, 40);
}

// The block requested from the system ends where the tensor ends, so that a sanitizer sees the first byte beyond it.
TEST(MemoryMeterDeathTest, AnOverrunIsNotHidden) {
#ifdef __SANITIZE_ADDRESS__
  const at::Tensor tensor = floats(16);
  volatile float* data = tensor.mutable_data_ptr<float>();
  EXPECT_DEATH(data[16] = 1, "heap-buffer-overflow");
#else
  GTEST_SKIP() << "only a build with AddressSanitizer (preset asan) can see an overrun";
#endif
}

}  // namespace
}  // namespace plumbline
