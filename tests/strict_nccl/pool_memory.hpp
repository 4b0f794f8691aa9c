// SPDX-License-Identifier: BSD-3-Clause
// Host memory in pools, like the pools that CUDA's caching allocator has for each stream: only a tensor of the same
// pool gets memory that a tensor of a pool frees.
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

  /// While the result lives, tensors that this thread makes use this pool's memory.
  static std::shared_ptr<void> use(std::shared_ptr<MemoryPool> pool);

  void* take(std::size_t bytes);
  void give(void* block, std::size_t bytes);

 private:
  std::mutex lock_;
  std::multimap<std::size_t, void*> free_;
};

}  // namespace plumbline::strict
