// SPDX-License-Identifier: BSD-3-Clause
// Accumulates a parameter's microbatch gradients: in `grad()`, or in mixed precision in a separate float32 sum.
#pragma once

#include <ATen/core/Tensor.h>

namespace plumbline {

/// From now on every gradient that a backward pass computes for `leaf` is widened, added to `sum` and released, so that
/// `leaf.grad()` is undefined between passes.
void add_gradients_into(const at::Tensor& leaf, const at::Tensor& sum);

/// Adds a gradient that was computed outside of a backward pass in the same way.
void add_gradient(const at::Tensor& leaf, const at::Tensor& gradient);

}  // namespace plumbline
