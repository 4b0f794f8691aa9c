// SPDX-License-Identifier: BSD-3-Clause
// The meter counts storages on a GPU by address. This needs no GPU: a tensor of another device whose data is never
// accessed takes its place.
#include <ATen/Tensor.h>
#include <ATen/ops/zeros.h>
#include <gtest/gtest.h>

#include <array>

#include "training/memory_meter.hpp"

namespace plumbline {
namespace {

/// A tensor whose storage is at `address` of a device other than the CPU.
at::Tensor tensor_at(void* address, std::int64_t elements) {
  const auto bytes = static_cast<std::size_t>(elements) * sizeof(float);
  c10::Storage storage(c10::Storage::use_byte_size_t(), bytes, c10::DataPtr(address, c10::Device(c10::kMeta)), nullptr,
                       /*resizable=*/false);
  auto tensor = at::detail::make_tensor<c10::TensorImpl>(
      std::move(storage), c10::DispatchKeySet(c10::DispatchKey::Meta), caffe2::TypeMeta::Make<float>());
  tensor.unsafeGetTensorImpl()->set_sizes_contiguous({elements});
  return tensor;
}

class DeviceMemory : public ::testing::Test {
 protected:
  void SetUp() override { meter_.attach(); }
  std::int64_t live(MemoryOwner owner) const { return meter_.count(owner).live; }

  MemoryMeter& meter_ = new_memory_meter();
  std::array<float, 8> place_{};
};

TEST_F(DeviceMemory, CountsAllocationsUnderTheThreadsOwner) {
  {
    const MemoryScope scope(MemoryOwner::activations);
    count_device_allocation(place_.data(), 1000);
  }
  count_device_allocation(&place_[4], 24);

  EXPECT_EQ(live(MemoryOwner::activations), 1000);
  EXPECT_EQ(live(MemoryOwner::other), 24);
  EXPECT_EQ(meter_.total().live, 1024);

  count_device_free(place_.data());
  count_device_free(&place_[4]);

  EXPECT_EQ(meter_.total().live, 0);
  EXPECT_EQ(live(MemoryOwner::activations), 0);
  EXPECT_EQ(live(MemoryOwner::other), 0);
  EXPECT_EQ(meter_.total().peak, 1024);
  EXPECT_EQ(meter_.count(MemoryOwner::activations).peak, 1000);
}

TEST_F(DeviceMemory, AStorageChangesItsOwnerAndKeepsItUntilItIsFreed) {
  count_device_allocation(place_.data(), 32);
  const at::Tensor tensor = tensor_at(place_.data(), 8);

  EXPECT_EQ(storage_bytes(tensor), 32);
  retag(tensor, MemoryOwner::transport);

  EXPECT_EQ(live(MemoryOwner::other), 0);
  EXPECT_EQ(live(MemoryOwner::transport), 32);
  count_device_free(place_.data());
  EXPECT_EQ(live(MemoryOwner::transport), 0);
  EXPECT_EQ(storage_bytes(tensor), 0);
}

TEST_F(DeviceMemory, IgnoresOlderStorages) {
  count_device_free(place_.data());
  retag(tensor_at(place_.data(), 8), MemoryOwner::transport);

  EXPECT_EQ(meter_.total().live, 0);
  EXPECT_EQ(live(MemoryOwner::transport), 0);
}

TEST_F(DeviceMemory, IgnoresCpuStoragesOnGpus) {
  install_memory_meter();
  const at::Tensor before = at::zeros({4});
  meter_.count_devices_alone();

  {
    const MemoryScope scope(MemoryOwner::activations);
    const at::Tensor host = at::zeros({100});
    EXPECT_EQ(storage_bytes(host), 0);
    count_device_allocation(place_.data(), 32);
    retag(host, MemoryOwner::transport);
  }

  EXPECT_EQ(live(MemoryOwner::activations), 32);
  EXPECT_EQ(live(MemoryOwner::transport), 0);
  EXPECT_EQ(meter_.total().live, 16 + 32);
  count_device_free(place_.data());
}

TEST_F(DeviceMemory, AMovedStorageIsAlwaysCounted) {
  count_device_allocation(place_.data(), 32);
  const at::Tensor tensor = tensor_at(place_.data(), 8);
  MemoryMeter& other = new_memory_meter();
  other.attach();

  retag(tensor, MemoryOwner::activations);

  EXPECT_EQ(meter_.total().live, 0);
  EXPECT_EQ(other.total().live, 32);
  EXPECT_EQ(other.total().peak, 32);
  count_device_free(place_.data());
  EXPECT_EQ(other.total().live, 0);
}

}  // namespace
}  // namespace plumbline
