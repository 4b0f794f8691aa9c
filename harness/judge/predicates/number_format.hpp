// SPDX-License-Identifier: BSD-3-Clause
// Storage dtypes of parameters and moments: unit roundoff, and rounding from wider numbers. Every value of them is
// exact in double.
#pragma once

#include <string>

namespace plumbline::predicates {

enum class Storage { float32, float64, bfloat16 };

/// True for a supported dtype.
bool is_storage(const std::string& dtype);
/// Throws InputError for an unsupported dtype.
Storage storage_of(const std::string& dtype);
/// Unit roundoff, half the distance from 1 to the next number: 2^-24, 2^-53, 2^-8.
double unit_roundoff(Storage storage);
/// Rounds once to the nearest number, ties to even; infinite beyond its range.
double rounded(Storage storage, double value);

}  // namespace plumbline::predicates
