// SPDX-License-Identifier: BSD-3-Clause
// Bounds of a stored number around the exact result: the library does not promise where it rounds, so no single value
// can be demanded, but its error is bounded.
#pragma once

#include "harness/judge/audit/number_format.hpp"

namespace plumbline::auditing {

/// An exact sum, and the sum of the magnitudes of its terms. Real: the type that the judge computes in, wider than the
/// trainer's (double for float32 and bfloat16, long double for float64).
template <typename Real>
struct Sum {
  Real value = 0;
  Real magnitudes = 0;
};

/// A closed interval in the storage dtype.
struct Bounds {
  double lowest = 0;
  double highest = 0;
  /// False for NaN.
  bool admit(double value) const { return lowest <= value && value <= highest; }
};

inline constexpr double roundings = 8;

/// Error bound of a sum computed in `computing`: 8 u x the magnitudes, u its unit roundoff, plus 8 times its smallest
/// positive number, for products that underflow.
template <typename Real>
Real possible_error(Storage computing, const Sum<Real>& sum) {
  const auto u = static_cast<Real>(unit_roundoff(computing)), tiny = static_cast<Real>(smallest(computing));
  return static_cast<Real>(roundings) * (u * sum.magnitudes + tiny);
}

/// From round(x - e) to round(x + e).
template <typename Real>
Bounds bounds_of(Storage storage, const Sum<Real>& sum) {
  const Real error = possible_error(computed_in(storage), sum);
  return {rounded(storage, sum.value - error), rounded(storage, sum.value + error)};
}

}  // namespace plumbline::auditing
