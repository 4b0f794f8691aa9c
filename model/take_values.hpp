// SPDX-License-Identifier: BSD-3-Clause
// Values taken over from a slice of another dtype.
#pragma once

#include "model/llama_slice.hpp"

namespace plumbline {

/// The parameters of a slice of the same units, converted: exact where `slice` is wider.
void take_values(LlamaSlice& slice, const LlamaSlice& from);

}  // namespace plumbline
