#include "training/memory_row.hpp"

#include <ATen/ops/empty.h>
#include <gtest/gtest.h>

#include <memory>
#include <vector>

namespace plumbline {
namespace {

at::Tensor bytes(MemoryOwner owner, std::int64_t count) {
  const MemoryScope scope(owner);
  return at::empty({count}, at::kByte);
}

TEST(MemoryRow, TellsWhatIsAliveByOwner) {
  MemoryMeter& meter = new_memory_meter();
  meter.attach();
  begin_step_memory(meter);
  const at::Tensor kept[] = {bytes(MemoryOwner::parameters, 1),  bytes(MemoryOwner::gradients, 20),
                             bytes(MemoryOwner::optimizer, 300), bytes(MemoryOwner::tables, 4000),
                             bytes(MemoryOwner::data, 50000),    bytes(MemoryOwner::other, 600000)};

  const MemoryRow row = memory_row(meter, 7, 5);

  EXPECT_EQ(row.step, 7);
  EXPECT_EQ(row.parameter_bytes, 1);
  EXPECT_EQ(row.gradient_bytes, 20);
  EXPECT_EQ(row.optimizer_bytes, 300);
  EXPECT_EQ(row.table_bytes, 4000);
  EXPECT_EQ(row.data_bytes, 50000);
  EXPECT_EQ(row.other_bytes, 600000);
  EXPECT_EQ(row.live_bytes, 654321);
  EXPECT_EQ(row.activation_peak_bytes, 5);
}

TEST(MemoryRow, PeaksAreThoseOfTheStep) {
  MemoryMeter& meter = new_memory_meter();
  meter.attach();
  for (const MemoryOwner owner : {MemoryOwner::other, MemoryOwner::transport}) bytes(owner, 1000);
  const at::Tensor kept = bytes(MemoryOwner::other, 10);
  begin_step_memory(meter);
  EXPECT_EQ(memory_row(meter, 0, 0).other_peak_bytes, 10) << "what is alive when the step begins is in it";

  for (const MemoryOwner owner : {MemoryOwner::other, MemoryOwner::transport}) bytes(owner, 100);

  const MemoryRow row = memory_row(meter, 0, 0);
  EXPECT_EQ(row.other_peak_bytes, 110);
  EXPECT_EQ(row.other_bytes, 10);
  EXPECT_EQ(row.buffer_bytes, 100);
  EXPECT_EQ(row.peak_bytes, 110);
  EXPECT_EQ(row.live_bytes, 10);
}

TEST(MemoryRow, TellsWhatOfTheHeapIsFree) {
#ifdef __SANITIZE_ADDRESS__
  GTEST_SKIP() << "AddressSanitizer has an allocator of its own, of which malloc tells nothing";
#endif
  constexpr std::int64_t block = 64 << 10, blocks = 200;
  const MemoryMeter& meter = new_memory_meter();
  std::vector<std::unique_ptr<char[]>> taken;
  for (int i = 0; i < blocks; ++i) taken.push_back(std::make_unique<char[]>(block));
  const std::int64_t before = memory_row(meter, 0, 0).heap_free_bytes.value();

  for (int i = 0; i < blocks; i += 2) taken[i].reset();

  const std::int64_t freed = memory_row(meter, 1, 0).heap_free_bytes.value() - before;
  EXPECT_GE(freed, block * (blocks / 2 - 1));
  EXPECT_LE(freed, block * (blocks / 2 + 2));
}

}  // namespace
}  // namespace plumbline
