// SPDX-License-Identifier: BSD-3-Clause
// A narrow gradient added into a wider sum.
#pragma once

#include <ATen/core/Tensor.h>

namespace plumbline {

/// sum += gradient: each element widened to the sum's dtype, which is exact, and added there.
void add_widened(const at::Tensor& sum, const at::Tensor& gradient);

}  // namespace plumbline
