// SPDX-License-Identifier: BSD-3-Clause
// The dtypes that parameters and moments are stored in: their unit roundoff, and rounding to them from wider numbers.
// Every value of them is a double.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "support/safetensors.hpp"

namespace plumbline::auditing {

enum class Storage { float32, float64, bfloat16 };

/// Whether the dtype is one of these.
bool is_storage(const std::string& dtype);
/// Throws InputError for a dtype in which nothing is trained.
Storage storage_of(const std::string& dtype);
/// Half the distance from 1 to the next number: 2^-24, 2^-53, 2^-8.
double unit_roundoff(Storage storage);
/// The smallest number above zero: 2^-149, 2^-1074, 2^-133.
double smallest(Storage storage);
/// What one operation is computed in before it is stored: float32 for bfloat16, else the dtype itself.
Storage computed_in(Storage storage);

/// The nearest number of that dtype, ties to even; infinite beyond its range. One rounding.
double rounded(Storage storage, double value);
double rounded(Storage storage, long double value);

/// A dumped tensor's elements, exactly. Throws InputError for a dtype that storage_of refuses.
std::vector<double> values_of(const SafetensorsEntry& tensor);

}  // namespace plumbline::auditing
