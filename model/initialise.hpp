// SPDX-License-Identifier: BSD-3-Clause
// Initial values, each tensor from a generator of its own.
#pragma once

#include <cstdint>

#include "model/llama_slice.hpp"

namespace plumbline {

/// Matrices and embeddings N(0, initializer_range), norm weights 1, biases 0; each tensor from its own generator seeded
/// by hash64("<seed>/<name>"), so independent of the partition. A tied lm_head.weight takes embed_tokens' name and so
/// its bits. All are drawn in float32, then widened to float64 or rounded to bfloat16: every precision starts from the
/// same numbers.
void initialise(LlamaSlice& slice, std::uint64_t seed);

}  // namespace plumbline
