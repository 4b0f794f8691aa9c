// SPDX-License-Identifier: BSD-3-Clause
#include "tests/model/counting_allocator.hpp"

#include <c10/core/Allocator.h>
#include <c10/core/CPUAllocator.h>
#include <c10/core/impl/alloc_cpu.h>

#include <cstring>
#include <unordered_map>

namespace plumbline::testing {
namespace {

struct Counter {
  std::unordered_map<void*, std::int64_t> sizes;
  std::int64_t live = 0;
};

Counter& counter() {
  static Counter only;  // an allocator's deleter is a plain function and cannot hold state
  return only;
}

void release(void* data) {
  Counter& count = counter();
  const auto found = count.sizes.find(data);
  if (found != count.sizes.end()) {
    count.live -= found->second;
    count.sizes.erase(found);
  }
  c10::free_cpu(data);
}

struct CountingAllocator final : at::Allocator {
  at::DataPtr allocate(std::size_t bytes) override {
    void* data = c10::alloc_cpu(bytes);
    if (data != nullptr) {
      counter().sizes[data] = static_cast<std::int64_t>(bytes);
      counter().live += static_cast<std::int64_t>(bytes);
    }
    return {data, data, &release, at::Device(at::kCPU)};
  }
  at::DeleterFnPtr raw_deleter() const override { return &release; }
  void copy_data(void* to, const void* from, std::size_t bytes) const override { std::memcpy(to, from, bytes); }
};

}  // namespace

std::int64_t live_tensor_bytes() {
  static CountingAllocator allocator;
  static const bool placed = [] {
    c10::SetCPUAllocator(&allocator, 1);
    return true;
  }();
  static_cast<void>(placed);
  return counter().live;
}

}  // namespace plumbline::testing
