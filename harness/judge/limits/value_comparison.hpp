// SPDX-License-Identifier: BSD-3-Clause
// Comparison of a candidate's value with the reference's: bit for bit, or in the mode calibrated within limits.
// Everything that is no value (shapes, counts, inputs, ...) is compared exactly in both modes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "harness/judge/limits/measured.hpp"
#include "record/rows.hpp"

namespace plumbline::judging {

/// A difference of a value, in words.
struct ValueDifference {
  std::string expected, got;
  std::string why;  ///< "the bits differ"; empty if expected and got suffice
};

struct ComparedValue {
  std::optional<ValueDifference> difference;  ///< nullopt: the value is correct
  std::optional<Measured> measured = {};      ///< only in the mode calibrated
};

/// Callers have already compared dtype and shape of tensors and boundary tensors, and checked that losses and norms are
/// finite.
class ValueComparison {
 public:
  virtual ~ValueComparison() = default;
  /// The demand: "0 ULP", or the rule of the mode calibrated.
  virtual std::string demand() const = 0;
  /// "the same bits", or "within their limits".
  virtual std::string agreement() const = 0;
  /// True if bits are compared, so that no difference is due to rounding.
  virtual bool exact() const = 0;

  /// `microbatch`: nullopt for the step's loss.
  virtual ComparedValue loss(std::int64_t step, std::optional<std::int64_t> microbatch, float reference,
                             float candidate) = 0;
  /// An evaluation's loss after the step; `microbatch` as above.
  virtual ComparedValue evaluation_loss(std::int64_t step, std::optional<std::int64_t> microbatch, float reference,
                                        float candidate) = 0;
  virtual ComparedValue gradient_norm(std::int64_t step, double reference, double candidate) = 0;
  /// `rank`: the candidate's, owner of the row `candidate`.
  virtual ComparedValue tensor(std::int64_t rank, const TensorRow& reference, const TensorRow& candidate) = 0;
  virtual ComparedValue boundary(std::int64_t rank, const BoundaryRow& reference, const BoundaryRow& candidate) = 0;
};

/// Compares bits.
ValueComparison& in_bits();

}  // namespace plumbline::judging
