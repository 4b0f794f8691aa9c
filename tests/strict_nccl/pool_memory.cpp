// SPDX-License-Identifier: BSD-3-Clause
#include "tests/strict_nccl/pool_memory.hpp"

#include <c10/core/CPUAllocator.h>

#include <new>
#include <utility>

namespace plumbline::strict {
namespace {

constexpr std::size_t header_bytes = 64;  // LibTorch's alignment

struct Header {
  std::shared_ptr<MemoryPool> pool;  ///< null: no pool
  std::size_t bytes = 0;
};
static_assert(sizeof(Header) <= header_bytes);

thread_local std::shared_ptr<MemoryPool> pool_in_use;

/// Below the memory meter, which counts the allocations.
class PoolAllocator final : public c10::Allocator {
 public:
  PoolAllocator() { c10::SetCPUAllocator(this); }

  c10::DataPtr allocate(std::size_t bytes) override {
    const c10::Device cpu(c10::DeviceType::CPU);
    if (bytes == 0) return {nullptr, nullptr, &release, cpu};
    const std::size_t all = bytes + header_bytes;
    auto* block = static_cast<std::byte*>(pool_in_use ? pool_in_use->take(all) : heap().raw_allocate(all));
    new (block) Header{pool_in_use, all};
    void* data = block + header_bytes;
    return {data, data, &release, cpu};
  }
  c10::DeleterFnPtr raw_deleter() const override { return &release; }
  void copy_data(void* to, const void* from, std::size_t bytes) const override { default_copy_data(to, from, bytes); }

  static c10::Allocator& heap() { return *c10::GetDefaultCPUAllocator(); }

 private:
  static void release(void* data) {
    if (data == nullptr) return;
    void* block = static_cast<std::byte*>(data) - header_bytes;
    auto* header = std::launder(static_cast<Header*>(block));
    const auto [pool, bytes] = std::move(*header);
    header->~Header();
    if (pool) return pool->give(block, bytes);
    heap().raw_deallocate(block);
  }
};

PoolAllocator allocator;  // before the memory meter is installed

}  // namespace

MemoryPool::~MemoryPool() {
  for (const auto& [bytes, block] : free_) PoolAllocator::heap().raw_deallocate(block);
}

std::shared_ptr<void> MemoryPool::use(std::shared_ptr<MemoryPool> pool) {
  std::swap(pool_in_use, pool);
  return {nullptr, [before = std::move(pool)](void*) { pool_in_use = before; }};
}

void* MemoryPool::take(std::size_t bytes) {
  const std::lock_guard guard(lock_);
  if (auto found = free_.extract(bytes)) return found.mapped();
  return PoolAllocator::heap().raw_allocate(bytes);
}

void MemoryPool::give(void* block, std::size_t bytes) {
  const std::lock_guard guard(lock_);
  free_.emplace(bytes, block);
}

}  // namespace plumbline::strict
