// SPDX-License-Identifier: BSD-3-Clause
// Copies values from a slice of another dtype.
#pragma once

#include "model/llama_slice.hpp"

namespace plumbline {

/// Copies the parameters of a slice of the same units, converted; exact if `slice` is wider.
void copy_values(LlamaSlice& slice, const LlamaSlice& from);

}  // namespace plumbline
