// SPDX-License-Identifier: BSD-3-Clause
// Rotary position embeddings (Su et al., arXiv:2104.09864), bit-identical to transformers.
#pragma once

#include <ATen/core/Tensor.h>

#include "model/config.hpp"

namespace plumbline {

/// Cosines and sines [longest, head_dim] of positions 0 ... longest-1.
struct RopeTables {
  at::Tensor cos;
  at::Tensor sin;
};

/// Tables in `dtype`. float32: all steps in float32, as in transformers (tables computed in float64 and rounded
/// differ). float64: all steps in float64, so that a float64 model computes the function that the float32 model rounds.
/// bfloat16: the float32 tables rounded once at the end; bfloat16 cannot represent integer positions above 256.
RopeTables make_rope_tables(const LlamaConfig& config, std::int64_t longest_sequence, at::ScalarType dtype);

/// Views of the first `sequence` rows of both tables.
RopeTables first_positions(const RopeTables& tables, std::int64_t sequence);

/// heads [batch, heads, sequence, head_dim], tables of exactly `sequence` rows: heads * cos + rotate_half(heads) * sin.
/// Saves only the tables for the backward pass.
at::Tensor apply_rope(const at::Tensor& heads, const RopeTables& tables);

}  // namespace plumbline
