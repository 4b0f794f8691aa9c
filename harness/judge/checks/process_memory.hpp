// SPDX-License-Identifier: BSD-3-Clause
// Memory of the ranks' processes, tensors or not, as Linux counts it.
#pragma once

#include <optional>
#include <vector>

#include "harness/judge/checks/memory_part.hpp"

namespace plumbline::judging {

/// The growth of one process from step to step.
class ProcessGrowth {
 public:
  static constexpr std::int64_t allowed_growth = 64 << 20;  ///< bytes a step

  void step(const MemoryRow& row);

  bool measured() const { return !growths_.empty(); }
  std::int64_t most_private() const { return most_private_; }
  /// Of what is measured.
  std::int64_t median() const;
  /// The first step that grew by more than is allowed.
  std::optional<std::int64_t> first_beyond() const { return first_beyond_; }

 private:
  struct Before {
    std::int64_t step, in_use;
  };
  std::optional<Before> before_;
  std::optional<std::int64_t> first_beyond_;
  std::vector<std::int64_t> growths_;
  std::int64_t most_private_ = 0;
};

/// Finds memory that a rank's process loses from step to step. Of each rank, what is in use at a step's end and is no
/// tensor: process_private_bytes - heap_free_bytes - live_bytes. The median of its growth from one recorded step to the
/// next is at most 64 MiB a step; a single step, in which a library loads or makes its buffers, may grow by more.
/// Private memory itself is measured and has no limit: memory that a process takes once, by malloc, is not covered.
/// Leaves out, and says so: ranks that are threads of one process, GPUs, sanitizers, other people's trainers.
std::unique_ptr<MemoryPart> processes_part(const CellEvidence& evidence);

}  // namespace plumbline::judging
