// SPDX-License-Identifier: BSD-3-Clause
#include "training/memory_row.hpp"

#include <ATen/ops/empty.h>
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <cstring>
#include <new>

#include "support/machine_memory.hpp"

namespace plumbline {
namespace {

at::Tensor bytes(MemoryOwner owner, std::int64_t count) {
  const MemoryScope scope(owner);
  return at::empty({count}, at::kByte);
}

TEST(MemoryRow, HasStateBytesByOwner) {
  MemoryMeter& meter = new_memory_meter();
  meter.attach();
  begin_step_memory(meter);
  const at::Tensor kept[] = {bytes(MemoryOwner::parameters, 1),  bytes(MemoryOwner::gradients, 20),
                             bytes(MemoryOwner::optimizer, 300), bytes(MemoryOwner::tables, 4000),
                             bytes(MemoryOwner::data, 50000),    bytes(MemoryOwner::other, 600000)};
  const at::Tensor copied = bytes(MemoryOwner::checkpoint, 7000000);

  const MemoryRow row = memory_row(meter, 7, 5);

  EXPECT_EQ(row.step, 7);
  EXPECT_EQ(row.parameter_bytes, 1);
  EXPECT_EQ(row.gradient_bytes, 20);
  EXPECT_EQ(row.optimizer_bytes, 300);
  EXPECT_EQ(row.live_bytes, 654321);
  EXPECT_EQ(row.peak_bytes, 654321);
  EXPECT_EQ(row.activation_peak_bytes, 5);
}

TEST(MemoryRow, PeaksArePerStep) {
  MemoryMeter& meter = new_memory_meter();
  meter.attach();
  for (const MemoryOwner owner : {MemoryOwner::other, MemoryOwner::transport}) bytes(owner, 1000);
  const at::Tensor kept = bytes(MemoryOwner::other, 10);
  begin_step_memory(meter);
  EXPECT_EQ(memory_row(meter, 0, 0).peak_bytes, 10) << "what is alive when the step begins is in it";

  for (const MemoryOwner owner : {MemoryOwner::other, MemoryOwner::transport}) bytes(owner, 100);

  const MemoryRow row = memory_row(meter, 0, 0);
  EXPECT_EQ(row.buffer_bytes, 100);
  EXPECT_EQ(row.peak_bytes, 110);
  EXPECT_EQ(row.live_bytes, 10);
}

/// Pages of this process that were written to and so are resident, in its lifetime.
class Pages {
 public:
  Pages(std::size_t bytes, int kind, int file = -1)
      : bytes_(bytes), at_(mmap(nullptr, bytes, PROT_READ | PROT_WRITE, kind, file, 0)) {
    if (at_ == MAP_FAILED) throw std::bad_alloc();
    std::memset(at_, 1, bytes);
  }
  ~Pages() { munmap(at_, bytes_); }
  Pages(const Pages&) = delete;
  Pages& operator=(const Pages&) = delete;

 private:
  std::size_t bytes_;
  void* at_;
};

constexpr std::size_t mebibyte = std::size_t{1} << 20;

TEST(MemoryRow, ProcessPeakIsTheKernels) {
  const MemoryMeter& meter = new_memory_meter();
  const auto peak = [] { return number_behind("/proc/self/status", "VmHWM:").value() * 1024; };
  { const Pages gone(64 * mebibyte, MAP_PRIVATE | MAP_ANONYMOUS); }

  const std::int64_t before = peak();
  const std::int64_t recorded = memory_row(meter, 0, 0).process_peak_bytes.value();
  const std::int64_t after = peak();

  EXPECT_LE(before, recorded);
  EXPECT_LE(recorded, after) << "it only rises";
}

}  // namespace
}  // namespace plumbline
