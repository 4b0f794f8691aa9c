// SPDX-License-Identifier: BSD-3-Clause
// How a value of the candidate is held against the reference's: in bits, or in the calibrated tier within limits. All
// that is no value (shapes, counts, what is carried, ...) is exact in both.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "harness/judge/limits/measured.hpp"
#include "record/rows.hpp"

namespace plumbline::judging {

/// What is wrong with a value, for people.
struct ValueDifference {
  std::string expected, got;
  std::string why;  ///< "the bits differ"; empty where expected and got say all
};

struct ComparedValue {
  std::optional<ValueDifference> difference;  ///< nothing: the value is as it must be
  std::optional<Measured> measured = {};      ///< of the calibrated tier
};

/// Of tensors and boundaries dtype and shape are equal already, of losses and norms both are finite.
class ValueComparison {
 public:
  virtual ~ValueComparison() = default;
  /// What it demands: "0 ULP", or the calibrated tier's rule.
  virtual std::string demand() const = 0;
  /// "the same bits", or "within their limits".
  virtual std::string agreement() const = 0;
  /// Bits are demanded: a difference is never rounding.
  virtual bool exact() const = 0;

  /// `microbatch`: absent for the step's loss.
  virtual ComparedValue loss(std::int64_t step, std::optional<std::int64_t> microbatch, float reference,
                             float candidate) = 0;
  /// Of the evaluation after the step; `microbatch` as for a loss.
  virtual ComparedValue evaluation_loss(std::int64_t step, std::optional<std::int64_t> microbatch, float reference,
                                        float candidate) = 0;
  virtual ComparedValue gradient_norm(std::int64_t step, double reference, double candidate) = 0;
  /// `rank`: the candidate's, whose row is `candidate`.
  virtual ComparedValue tensor(std::int64_t rank, const TensorRow& reference, const TensorRow& candidate) = 0;
  virtual ComparedValue boundary(std::int64_t rank, const BoundaryRow& reference, const BoundaryRow& candidate) = 0;
};

/// At 0 ULP.
ValueComparison& in_bits();

}  // namespace plumbline::judging
