// SPDX-License-Identifier: BSD-3-Clause
// Comparison of a candidate's value with the reference's: bit for bit, or in the mode calibrated within limits
// (within_limits.hpp). Everything that is no value (shapes, counts, inputs, ...) is compared exactly in both modes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "harness/judge/limits/errors.hpp"
#include "record/record.hpp"

namespace plumbline::judging {

/// The error of a value relative to the float64 reference, and its limit.
struct Measured {
  std::string item;  ///< "gradient/model.norm.weight at step 1"
  double error = 0;
  double limit = 0;
  std::string limit_words;

  /// error / limit; 0 if both are 0, infinity if only the limit is, NaN if the error is.
  double margin() const;
  /// False if the margin is NaN.
  bool holds() const { return error <= limit; }
  std::string words() const;
};

/// Margins from here on get a warning: equivalent runs do not reach it.
inline constexpr double warned_margin = 0.5;

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

  /// Of a microbatch, a step or an evaluation.
  virtual ComparedValue loss(const Item& item, float reference, float candidate) = 0;
  virtual ComparedValue gradient_norm(std::int64_t step, double reference, double candidate) = 0;
  /// `rank`: the candidate's, owner of the row `candidate`.
  virtual ComparedValue tensor(std::int64_t rank, const TensorRow& reference, const TensorRow& candidate) = 0;
  virtual ComparedValue boundary(std::int64_t rank, const BoundaryRow& reference, const BoundaryRow& candidate) = 0;
};

/// Compares bits.
ValueComparison& in_bits();

}  // namespace plumbline::judging
