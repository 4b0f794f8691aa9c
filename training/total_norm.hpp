// SPDX-License-Identifier: BSD-3-Clause
// The global gradient norm, the same bits on one device and on P ranks: norms of single gradients, added in an order
// that no partition changes.
#pragma once

#include <vector>

#include "model/config.hpp"
#include "training/gradient_norm.hpp"

namespace plumbline {

/// Square root of the left-to-right sum of squares in canonical order. `norms` may come from many ranks in any order;
/// throws std::logic_error unless each parameter of the model stands exactly once, and of a tied model no
/// `lm_head.weight`.
double total_norm(const LlamaConfig& config, const std::vector<ParameterNorm>& norms);

}  // namespace plumbline
