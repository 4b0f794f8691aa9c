// SPDX-License-Identifier: BSD-3-Clause
// A unit of which the forward pass keeps the input alone: its backward pass runs it again and goes back through that.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

#include "model/llama_slice.hpp"

namespace plumbline {

/// slice.forward_unit(unit, input), with the same values and gradients. The slice outlives the graph. `input` must not
/// be changed until its backward pass: LibTorch throws where it was. Where no graph is made, it is the plain pass.
at::Tensor forward_to_recompute(const LlamaSlice& slice, std::int64_t unit, const at::Tensor& input);

}  // namespace plumbline
