// SPDX-License-Identifier: BSD-3-Clause
// Converts float64 to bfloat16 with one rounding. LibTorch's conversion rounds to float32 first and so rounds twice,
// which gives another result if the float32 is half-way between two bfloat16 values. Here float32 is rounded to odd
// instead, which is half-way only if the original value was (Boldo and Melquiond, "Emulation of a FMA and correctly
// rounded sums: proved algorithms using rounding to odd", IEEE Transactions on Computers 57, 2008).
#pragma once

#include <ATen/core/Tensor.h>
#include <c10/util/BFloat16.h>

namespace plumbline {

/// The nearest bfloat16, ties to even.
c10::BFloat16 round_to_bfloat16(double value);
/// The same for each element of a float64 tensor, on its device and without synchronization.
at::Tensor round_to_bfloat16(const at::Tensor& values);

}  // namespace plumbline
