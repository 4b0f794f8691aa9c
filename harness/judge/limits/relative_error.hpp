// SPDX-License-Identifier: BSD-3-Clause
// How far a tensor lies from its float64 shadow, from the bytes of two dumps.
#pragma once

#include "support/safetensors.hpp"

namespace plumbline::judging {

/// |got - truth| / |truth| in 2-norms, computed in float64; where the truth is all zero, |got| itself. Of any
/// floating-point dtypes. NaN or infinity as soon as one element of either is: no limit takes it for small. Throws
/// InputError for shapes that differ and for integers.
double relative_error(const SafetensorsEntry& got, const SafetensorsEntry& truth);

/// The same of two numbers.
double relative_error(double got, double truth);

/// Whether no element differs from zero.
bool all_zero(const SafetensorsEntry& tensor);

}  // namespace plumbline::judging
