// SPDX-License-Identifier: BSD-3-Clause
// Initial values of the parameters.
#pragma once

#include <cstdint>

#include "model/llama_slice.hpp"

namespace plumbline {

/// Matrices and embeddings N(0, initializer_range), norm weights 1, biases 0. Each tensor has its own generator, seeded
/// by hash64("<seed>/<name>"), so the values do not depend on the partition. A tied lm_head.weight uses the name of
/// embed_tokens and so has the same bits. All values are drawn in float32 and then widened to float64 or rounded to
/// bfloat16, so that every precision starts from the same numbers.
void initialize(LlamaSlice& slice, std::uint64_t seed);

}  // namespace plumbline
