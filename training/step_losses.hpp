// SPDX-License-Identifier: BSD-3-Clause
// The losses of a step's microbatches. On a GPU they stay there until the step's end, so that no microbatch waits for
// its loss to reach the host.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

namespace plumbline {

class StepLosses {
 public:
  /// Clears the previous step's losses.
  void begin(std::int64_t microbatches);
  /// `loss`: a scalar. Stores only its value.
  void set(std::int64_t microbatch, const at::Tensor& loss);
  /// By microbatch; 0 if none was set. On a GPU a step's first call synchronizes with all earlier work.
  const std::vector<float>& read();

 private:
  std::vector<float> values_;
  at::Tensor on_device_;  ///< float32 [microbatches]; undefined while all losses came from the CPU
  bool read_ = false;
};

/// Left-to-right sum in microbatch order, in fp32.
float step_loss(const std::vector<float>& losses);

}  // namespace plumbline
