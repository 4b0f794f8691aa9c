// SPDX-License-Identifier: BSD-3-Clause
// Adds a gradient to a sum of a wider dtype.
#pragma once

#include <ATen/core/Tensor.h>

namespace plumbline {

/// sum += gradient, with each element widened exactly to the sum's dtype.
void add_widened(const at::Tensor& sum, const at::Tensor& gradient);

}  // namespace plumbline
