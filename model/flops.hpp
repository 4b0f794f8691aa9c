// SPDX-License-Identifier: BSD-3-Clause
// Floating-point operations of the model's units.
#pragma once

#include <cstdint>
#include <vector>

#include "model/config.hpp"

namespace plumbline {

/// Forward FLOPs of one decoder layer over all rows: 2 per weight and token in the seven projections, and 2 S^2 (heads
/// x head size) per row of S tokens for the two products of causal attention (half of the square is masked). The
/// backward pass costs twice that in every unit, so it does not affect the partition.
double layer_flops(const LlamaConfig& config, const std::vector<std::int64_t>& row_lengths);
/// Forward FLOPs of norm, lm_head and loss over all rows: 2 H V per token, 4 H for the norm, 5 V for the softmax of the
/// logits.
double head_flops(const LlamaConfig& config, const std::vector<std::int64_t>& row_lengths);
/// FLOPs of a step, forward and backward: three times the forward FLOPs of all layers and the head. What is computed
/// again (train.recompute) does not count.
double step_flops(const LlamaConfig& config, const std::vector<std::int64_t>& row_lengths);

}  // namespace plumbline
