// SPDX-License-Identifier: BSD-3-Clause
// Closed form of the bytes that a unit saves for its backward pass.
#pragma once

#include <c10/core/ScalarType.h>

#include <cstdint>

#include "model/config.hpp"
#include "model/recompute.hpp"
#include "model/unit.hpp"

namespace plumbline {

/// Bytes that a unit saves for `tokens` positions until its backward pass, without its output; for the head, with the
/// loss. `math_sequence`: the row length if attention runs as matrix products and softmax, 0 for flash attention. With
/// flash attention, H hidden, A = heads * head_dim, K = kv_heads * head_dim, I intermediate and h heads, a float32
/// layer saves 4 (6H + 2A + 2K + 4I + h + 2) bytes per token. In bfloat16 the norms' inputs, attention's log-sum-exp
/// and the loss's log-probabilities are float32. The embedding saves its ids, which count as data: 0. Matrix products
/// save 4A + h S in place of 2A + 2K and h, for rows of S. Of a layer's halves, attention saves 4 (3H + 2A + 2K + h +
/// 1) of this, the MLP the rest; recomputed, a layer or a half saves only its input. Saturates at 2^63 - 1.
std::int64_t saved_bytes(const LlamaConfig& config, Unit unit, std::int64_t tokens, c10::ScalarType dtype,
                         Recompute recompute = Recompute::none, std::int64_t math_sequence = 0);

}  // namespace plumbline
