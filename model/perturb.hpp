// SPDX-License-Identifier: BSD-3-Clause
// Values moved by one unit in the last place.
#pragma once

#include <cstdint>

#include "model/llama_slice.hpp"

namespace plumbline {

/// Moves every element of every parameter by -1, 0 or +1 unit in the last place of the slice's dtype, zeros excepted:
/// what a rounding elsewhere might have done. Each parameter's moves come from a generator seeded by `seed` and its
/// name (a tied lm_head takes embed_tokens'), so that they are the same on every machine and in every partition.
void perturb(LlamaSlice& slice, std::uint64_t seed);

}  // namespace plumbline
