// SPDX-License-Identifier: BSD-3-Clause
// Relation of two tensors: their ratio and residual.
#pragma once

#include <cstdint>
#include <vector>

#include "record/value_findings.hpp"
#include "support/safetensors.hpp"

namespace plumbline {

/// With g the tensor and g0 the reference's: r = <g, g0> / <g0, g0>, residual = |g - r g0| / |g0|.
struct Relation {
  bool comparable = false;      ///< same shape and floating-point dtype, and not empty
  bool equal = false;           ///< in bits
  bool zero = false;            ///< g is all zero
  bool reference_zero = false;  ///< g0 is all zero: there is no ratio
  double ratio = 1, residual = 0;
  std::int64_t elements = 0, differing = 0, not_finite = 0;  ///< not_finite: in g where g0 is finite

  /// True if it is `factor` times the reference, to the precision of the dtype, `tolerance`.
  bool is_multiple(double factor, double tolerance) const;
};

/// Relative tolerance for products rounded once per element, and sums of them.
double relation_tolerance(const std::string& dtype);

Relation relation_of(const SafetensorsEntry& reference, const SafetensorsEntry& candidate);

/// For two tensors of equal shape and dtype, float32 or bfloat16: the number of elements that are 0, 1, 2 to 3, 4 to 7,
/// ... ULPs apart. `not_numbers` counts elements that are NaN in either.
std::vector<UlpBucket> ulp_buckets(const SafetensorsEntry& reference, const SafetensorsEntry& candidate,
                                   std::int64_t& not_numbers);

}  // namespace plumbline
