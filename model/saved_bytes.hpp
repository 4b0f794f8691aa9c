// SPDX-License-Identifier: BSD-3-Clause
// What a unit keeps of its forward pass for its backward pass, in closed form.
#pragma once

#include <c10/core/ScalarType.h>

#include <cstdint>

#include "model/config.hpp"
#include "model/recompute.hpp"
#include "model/unit.hpp"

namespace plumbline {

/// Bytes that a unit keeps of `tokens` positions until its backward pass, its output not among them; the head with its
/// loss. `math_sequence`: the length of the rows where attention runs as matrix products and softmax, 0 for flash
/// attention. With flash, H hidden, A = heads * head_dim, K = kv_heads *
/// head_dim, I intermediate and h heads a layer in float32 keeps 4 (6H + 2A + 2K + 4I + h + 2) bytes a token. In
/// bfloat16 the norms' inputs, attention's log-sum-exp and the loss's log-probabilities are float32. The embedding
/// keeps its ids, which are data: 0. Matrix products keep 4A + h S in place of 2A + 2K and h, for rows of S. A layer
/// that is computed again keeps its input alone. A number beyond 2^63 - 1 is 2^63 - 1.
std::int64_t saved_bytes(const LlamaConfig& config, Unit unit, std::int64_t tokens, c10::ScalarType dtype,
                         Recompute recompute = Recompute::none, std::int64_t math_sequence = 0);

}  // namespace plumbline
