// SPDX-License-Identifier: BSD-3-Clause
// Relation of two tensors, their ratio and residual, and the fault signatures of any tensor.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "harness/sweep/fault_signatures/dumped_step.hpp"
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

/// A single differing element, possibly in a single bit.
std::optional<FaultSignature> few_elements(const std::string& what, const SafetensorsEntry& expected,
                                           const SafetensorsEntry& got);

/// Differences of the size of rounding, in more than one element.
std::optional<FaultSignature> rounding(const std::string& what, const Relation& relation, double tolerance);

struct FactorCause {
  std::string name;      ///< name of the fault signature
  std::string meaning;   ///< "8 is the number of microbatches"
  std::string suggests;  ///< the mistake
};

/// All causes that match within `tolerance`, or one entry that states that none does.
std::vector<FactorCause> causes_of_factor(double factor, double tolerance, const StepFacts& facts);

/// "8.000".
std::string factor_text(double factor);

}  // namespace plumbline
