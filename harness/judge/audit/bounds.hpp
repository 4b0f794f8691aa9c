// SPDX-License-Identifier: BSD-3-Clause
// What a stored number may be, given what it should be: the library rounds at places that it does not promise, so one
// number cannot be demanded, but how far it can be off is known.
#pragma once

#include "harness/judge/audit/number_format.hpp"

namespace plumbline::auditing {

/// A sum as it should be, and the sum of the magnitudes of the terms added. Real: what the auditor computes in, wider
/// than what the trainer does (double for float32 and bfloat16, long double for float64).
template <typename Real>
struct Sum {
  Real value = 0;
  Real magnitudes = 0;
};

/// Both ends included, in the dtype of storage.
struct Bounds {
  double lowest = 0;
  double highest = 0;
  /// A NaN is never admitted.
  bool admit(double value) const { return lowest <= value && value <= highest; }
};

inline constexpr double roundings = 8;

/// How far a sum computed in `computing` may be off: 8 u x the magnitudes, u its unit roundoff, and as many of its
/// smallest numbers, which is what is lost where products underflow.
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
