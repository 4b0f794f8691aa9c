// SPDX-License-Identifier: BSD-3-Clause
// Host memory in pools, as CUDA's caching allocator has one for each stream: what a tensor of a pool frees, only a
// tensor of the same pool gets.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <mutex>

namespace plumbline::strict {

class MemoryPool {
 public:
  MemoryPool() = default;
  ~MemoryPool();
  MemoryPool(const MemoryPool&) = delete;
  MemoryPool& operator=(const MemoryPool&) = delete;

  /// While the result lives, tensors that this thread makes are in this pool's memory.
  static std::shared_ptr<void> use(std::shared_ptr<MemoryPool> pool);

  void* take(std::size_t bytes);
  void give(void* block, std::size_t bytes);

 private:
  std::mutex lock_;
  std::multimap<std::size_t, void*> free_;
};

}  // namespace plumbline::strict
