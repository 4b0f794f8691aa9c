// SPDX-License-Identifier: BSD-3-Clause
// Perturbs values by one unit in the last place.
#pragma once

#include <cstdint>

#include "model/llama_slice.hpp"

namespace plumbline {

/// Moves every nonzero element of every parameter by -1, 0 or +1 unit in the last place of the slice's dtype, as a
/// different rounding might. Each parameter's moves come from a generator seeded by `seed` and the parameter's name (a
/// tied lm_head uses the name of embed_tokens), so they do not depend on machine or partition.
void perturb(LlamaSlice& slice, std::uint64_t seed);

}  // namespace plumbline
