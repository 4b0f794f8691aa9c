// SPDX-License-Identifier: BSD-3-Clause
// How one tensor lies to another: as a multiple of it and what is left over.
#pragma once

#include <cstdint>
#include <vector>

#include "record/value_findings.hpp"
#include "support/safetensors.hpp"

namespace plumbline {

/// With g the tensor and g0 the reference's: r = <g, g0> / <g0, g0>, residual = |g - r g0| / |g0|.
struct Relation {
  bool comparable = false;      ///< same shape and dtype, of numbers, and not empty
  bool equal = false;           ///< in bits
  bool zero = false;            ///< g is all zero
  bool reference_zero = false;  ///< g0 is: then there is no ratio
  double ratio = 1, residual = 0;
  std::int64_t elements = 0, differing = 0, not_finite = 0;  ///< not_finite: in g where g0 is finite

  /// A multiple of the reference's by `factor`, as exactly as the dtype can tell. `tolerance` is the dtype's.
  bool is_multiple(double factor, double tolerance) const;
};

/// Relative, of a product rounded once per element and of sums of such.
double relation_tolerance(const std::string& dtype);

Relation relation_of(const SafetensorsEntry& reference, const SafetensorsEntry& candidate);

/// The elements as numbers; empty for integers.
std::vector<double> numbers_of(const SafetensorsEntry& entry);

/// Of two tensors of one shape and dtype, float32 or bfloat16: how many elements are 0, 1, 2 to 3, 4 to 7, ... ULPs
/// apart. `not_numbers` counts those that are NaN in either.
std::vector<UlpBucket> ulp_buckets(const SafetensorsEntry& reference, const SafetensorsEntry& candidate,
                                   std::int64_t& not_numbers);

}  // namespace plumbline
