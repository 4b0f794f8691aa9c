// SPDX-License-Identifier: BSD-3-Clause
// When a GPU reaches points of its stream, without the host waiting at each of them.
#pragma once

#include <cstdint>
#include <vector>

namespace plumbline {

/// Used by one thread, for the stream that is its current one.
class GpuTimer {
 public:
  virtual ~GpuTimer() = default;

  /// A point behind all work that is on the stream by now.
  virtual void mark() = 0;
  /// Waits until the stream is empty, and forgets the points marked since the last call: for each, in their order, the
  /// nanoseconds that passed between the GPU's reaching it and the end of all work. Throws RunError with CUDA's words.
  virtual std::vector<std::int64_t> take() = 0;
};

}  // namespace plumbline
