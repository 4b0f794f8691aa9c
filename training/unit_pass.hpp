// SPDX-License-Identifier: BSD-3-Clause
// The forward pass over a run of units, with the loss where the run ends in lm_head: one for both trainers, so that
// their tensors live equally long.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

#include "model/llama_slice.hpp"
#include "model/recompute.hpp"

namespace plumbline {

/// What logits are scored against.
struct LossTarget {
  at::Tensor labels;  ///< int64 [batch, sequence]
  std::int64_t valid_tokens_of_step = 0;
};

/// One unit's output, or of lm_head the scaled loss; `target` is used there only. `recompute` says what a layer keeps.
at::Tensor forward_unit(const LlamaSlice& slice, std::int64_t unit, const at::Tensor& input, const LossTarget& target,
                        Recompute recompute);

/// Runs the slice's units in order. `input`: ids, or an activation [batch, sequence, hidden], moved in so that it lives
/// only as long as the graph needs it. Returns the last unit's output.
at::Tensor forward_units(const LlamaSlice& slice, at::Tensor input, const LossTarget& target, Recompute recompute);

}  // namespace plumbline
