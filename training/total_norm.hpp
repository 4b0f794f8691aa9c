// SPDX-License-Identifier: BSD-3-Clause
// The global gradient norm, with the same bits on one device and on P ranks: norms of single gradients, added in an
// order that does not depend on the partition.
#pragma once

#include <vector>

#include "model/config.hpp"
#include "training/gradient_norm.hpp"

namespace plumbline {

/// Square root of the left-to-right sum of squares in canonical order. `norms` may come from several ranks in any
/// order. Throws std::logic_error unless each parameter of the model occurs exactly once (and `lm_head.weight` of a
/// tied model does not).
double total_norm(const LlamaConfig& config, const std::vector<ParameterNorm>& norms);

}  // namespace plumbline
