// SPDX-License-Identifier: BSD-3-Clause
// Compiled for AVX2; called only where the processor has it.
#include "record/tensor_pass.hpp"

namespace plumbline {

void add_with_avx2(TensorSums& sums, XXH3_state_t& hash, const unsigned char* data, std::size_t bytes) {
  add_elements(sums, hash, data, bytes);
}

}  // namespace plumbline
