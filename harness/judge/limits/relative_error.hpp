// SPDX-License-Identifier: BSD-3-Clause
// Relative error of a tensor against its float64 reference, from the bytes of two dumps.
#pragma once

#include "support/safetensors.hpp"

namespace plumbline::judging {

/// |got - truth| / |truth| in 2-norms, computed in float64; |got| if truth is all zero. For any floating-point dtypes.
/// NaN or infinity if an element of either is, so that every limit is exceeded. Throws InputError for shapes that
/// differ and for integers.
double relative_error(const SafetensorsEntry& got, const SafetensorsEntry& truth);

/// The same for two numbers.
double relative_error(double got, double truth);

/// True if all elements are zero.
bool all_zero(const SafetensorsEntry& tensor);

}  // namespace plumbline::judging
