#include "training/memory_row.hpp"

#include <ATen/ops/empty.h>
#include <gtest/gtest.h>

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

}  // namespace
}  // namespace plumbline
