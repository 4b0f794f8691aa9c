// SPDX-License-Identifier: BSD-3-Clause
// The forward pass over a range of units, with the loss if the range ends in lm_head. Shared by both trainers, so that
// their tensors have the same lifetimes.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

#include "model/llama_slice.hpp"
#include "model/recompute.hpp"

namespace plumbline {

/// The labels for the loss.
struct LossTarget {
  at::Tensor labels;  ///< int64 [batch, sequence]
  std::int64_t valid_tokens_of_step = 0;
};

/// One unit's output; for lm_head the scaled loss (only there `target` is used). `recompute`: what a layer or its
/// halves save.
at::Tensor forward_unit(const LlamaSlice& slice, std::int64_t unit, const at::Tensor& input, const LossTarget& target,
                        Recompute recompute);

/// Runs the slice's units in order. `input`: ids, or an activation [batch, sequence, hidden], moved in so that it lives
/// only as long as the graph needs it. Returns the last unit's output.
at::Tensor forward_units(const LlamaSlice& slice, at::Tensor input, const LossTarget& target, Recompute recompute);

}  // namespace plumbline
