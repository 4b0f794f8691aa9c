// SPDX-License-Identifier: BSD-3-Clause
// Memory of the ranks' processes, including memory outside of tensors, as counted by Linux.
#pragma once

#include <optional>
#include <vector>

#include "harness/judge/checks/memory_part.hpp"

namespace plumbline::judging {

/// Growth of one process from step to step.
class ProcessGrowth {
 public:
  static constexpr std::int64_t allowed_growth = 64 << 20;  ///< bytes per step

  void step(const MemoryRow& row);

  bool measured() const { return !growths_.empty(); }
  std::int64_t most_private() const { return most_private_; }
  /// Median growth in bytes per step; requires measured().
  std::int64_t median() const;
  /// The first step that grew by more than allowed_growth.
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

/// Detects memory leaks of a rank's process. For each rank, memory in use at a step's end outside of tensors is
/// process_private_bytes - heap_free_bytes - live_bytes. The median of its growth between recorded steps is at most 64
/// MiB per step; a single step, in which a library loads or allocates buffers, may grow by more. Private memory itself
/// is reported without a limit: memory that a process allocates once with malloc is not covered. Skips and reports:
/// ranks that are threads of one process, GPUs, sanitizers, external trainers.
std::unique_ptr<MemoryPart> processes_part(const CellEvidence& evidence);

}  // namespace plumbline::judging
