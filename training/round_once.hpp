// SPDX-License-Identifier: BSD-3-Clause
// From float64 to bfloat16 in one rounding. LibTorch's own conversion goes through the nearest float32 and so rounds
// twice, which gives another number where that lands on the middle between two bfloat16. Here float32 is rounded to odd
// instead, and then holds a middle only where the value was one (Boldo and Melquiond, "Emulation of a FMA and correctly
// rounded sums: proved algorithms using rounding to odd", IEEE Transactions on Computers 57, 2008).
#pragma once

#include <ATen/core/Tensor.h>
#include <c10/util/BFloat16.h>

namespace plumbline {

/// The nearest bfloat16, ties to even.
c10::BFloat16 round_to_bfloat16(double value);
/// The same of each element of a float64 tensor, on its device and without a wait.
at::Tensor round_to_bfloat16(const at::Tensor& values);

}  // namespace plumbline
