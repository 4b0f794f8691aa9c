// SPDX-License-Identifier: BSD-3-Clause
// Where a parameter's gradient of a microbatch goes: into `grad()`, or in mixed precision into a float32 sum beside it.
#pragma once

#include <ATen/core/Tensor.h>

namespace plumbline {

/// From now on every gradient that a backward pass gives `leaf` is widened, added into `sum` and let go of, so that
/// `leaf.grad()` is undefined between passes.
void add_gradients_into(const at::Tensor& leaf, const at::Tensor& sum);

/// Adds a gradient that was computed outside of a backward pass, as one within it would be.
void add_gradient(const at::Tensor& leaf, const at::Tensor& gradient);

}  // namespace plumbline
