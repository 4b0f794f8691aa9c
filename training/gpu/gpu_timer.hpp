// SPDX-License-Identifier: BSD-3-Clause
// Records when a GPU reaches points of its stream, without blocking the host at each of them.
#pragma once

#include <cstdint>
#include <vector>

namespace plumbline {

/// Used by one thread, for its current stream.
class GpuTimer {
 public:
  virtual ~GpuTimer() = default;

  /// Marks the end of all work queued on the stream so far.
  virtual void mark() = 0;
  /// Blocks until the stream is empty, and clears the marks since the last call. Returns for each, in order, the
  /// nanoseconds from reaching it to the end of all work. Throws RunError with CUDA's text.
  virtual std::vector<std::int64_t> take() = 0;
};

}  // namespace plumbline
