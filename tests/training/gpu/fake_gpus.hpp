// SPDX-License-Identifier: BSD-3-Clause
// A fake machine with GPUs.
#pragma once

#include <utility>
#include <vector>

#include "training/gpu/gpu_support.hpp"

namespace plumbline::testing {

class FakeGpus : public GpuSupport {
 public:
  GpuVersions installed{13000, 13000, 22809, 22809};
  std::vector<GpuDevice> devices{{"NVIDIA H200", "GPU-0", 90, std::int64_t{141} << 30}};
  std::string reason;  ///< why there are none
  std::vector<std::string> ranges;
  std::vector<std::uint64_t> ended;
  GpuFreeMemory memory{std::int64_t{100} << 30, std::int64_t{141} << 30};
  GpuAllocatorBytes allocator{1, 3, 2};
  int resets = 0;
  Allocated allocated;
  Freed freed;
  int marks = 0;                         ///< recorded on the stream
  std::vector<std::int64_t> before_end;  ///< when each was reached

  GpuVersions versions() override { return installed; }
  int device_count(std::string& why) override {
    why = reason;
    return static_cast<int>(devices.size());
  }
  GpuDevice device(int index) override { return devices.at(static_cast<std::size_t>(index)); }
  std::unique_ptr<GpuTimer> make_timer() override {
    struct Timer : GpuTimer {
      explicit Timer(FakeGpus& its) : gpus(its) {}
      void mark() override { ++gpus.marks; }
      std::vector<std::int64_t> take() override { return gpus.before_end; }
      FakeGpus& gpus;
    };
    return std::make_unique<Timer>(*this);
  }
  void use(int) override {}
  void synchronize() override {}
  GpuFreeMemory free_memory(int) override { return memory; }
  GpuAllocatorBytes allocator_bytes(int) override { return allocator; }
  void reset_peaks(int) override { ++resets; }
  void allocate_workspaces() override {}
  void release_workspaces() override {}
  void watch(Allocated one, Freed other) override {
    allocated = std::move(one);
    freed = std::move(other);
  }
  std::uint64_t begin_range(const char* name) override {
    ranges.emplace_back(name);
    return ranges.size();
  }
  void end_range(std::uint64_t range) override { ended.push_back(range); }
};

}  // namespace plumbline::testing
