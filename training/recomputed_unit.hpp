// SPDX-License-Identifier: BSD-3-Clause
// A unit, or a half of a layer, whose forward pass saves only its input; its backward pass runs the forward pass again.
#pragma once

#include <ATen/core/Tensor.h>

#include "model/llama_slice.hpp"
#include "model/unit.hpp"

namespace plumbline {

/// slice.forward(unit, input) with the same values and gradients. The slice must outlive the graph. `input` must
/// not be modified until its backward pass: LibTorch throws if it was. Without autograd, this is the plain forward
/// pass.
at::Tensor forward_to_recompute(const LlamaSlice& slice, Unit unit, const at::Tensor& input);

}  // namespace plumbline
