// SPDX-License-Identifier: BSD-3-Clause
// Rotary position embeddings (Su et al., arXiv:2104.09864) as transformers computes them, bit for bit.
#pragma once

#include <ATen/core/Tensor.h>

#include "model/config.hpp"

namespace plumbline {

/// Cosines and sines [longest, head_dim] of positions 0 ... longest-1.
struct RopeTables {
  at::Tensor cos;
  at::Tensor sin;
};

/// Tables in `dtype`. float32: every step in float32, as transformers does (tables made in float64 and rounded differ).
/// float64: every step in float64, so that a float64 model is the exact function that the float32 one rounds. bfloat16:
/// the float32 tables rounded once, at the end; positions beyond 256 would not even be whole numbers in bfloat16.
RopeTables make_rope_tables(const LlamaConfig& config, std::int64_t longest_sequence, at::ScalarType dtype);

/// The first `sequence` rows of both tables; views.
RopeTables first_positions(const RopeTables& tables, std::int64_t sequence);

/// heads [batch, heads, sequence, head_dim], tables of exactly `sequence` rows: heads * cos + rotate_half(heads) * sin.
/// Keeps nothing but the tables for the backward.
at::Tensor apply_rope(const at::Tensor& heads, const RopeTables& tables);

}  // namespace plumbline
