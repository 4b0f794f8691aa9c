// SPDX-License-Identifier: BSD-3-Clause
// Comparison of values in the mode calibrated: each error relative to the float64 reference must be within its limit.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>

#include "harness/judge/limits/limits.hpp"
#include "harness/judge/limits/value_comparison.hpp"
#include "record/record.hpp"
#include "support/error.hpp"
#include "support/safetensors.hpp"

namespace plumbline::judging {

/// The calibration cannot be used because its float64 reference is damaged. This does not depend on the candidate.
class CalibrationError : public InputError {
 public:
  explicit CalibrationError(const std::string& message)
      : InputError("not measured, the calibration's float64 reference is damaged: " + message +
                   "; run `plumbline calibrate` again") {}
};

/// Reads dumps of both records on demand, and the current rows of the float64 reference, which must be those of the
/// compared step. Keeps references to all three records. Throws RunError or InputError if a value cannot be measured
/// (no dump, no limit, a dump that does not match the table), and CalibrationError if the cause is the float64
/// reference.
class WithinLimits : public ValueComparison {
 public:
  WithinLimits(const Calibration& calibration, const Record& shadow, const Record& candidate)
      : calibration_(calibration), shadow_(shadow), candidate_(candidate) {}

  std::string demand() const override;
  std::string agreement() const override { return "within their limits"; }
  bool exact() const override { return false; }
  ComparedValue loss(const Item& item, float reference, float candidate) override;
  ComparedValue gradient_norm(std::int64_t step, double reference, double candidate) override;
  ComparedValue tensor(std::int64_t rank, const TensorRow& reference, const TensorRow& candidate) override;
  ComparedValue boundary(std::int64_t rank, const BoundaryRow& reference, const BoundaryRow& candidate) override;

  /// Forgets what was read of earlier steps. Call when the float64 reference has other rows.
  void forget_step() { dumps_.clear(), scalars_.clear(); }

 private:
  const SafetensorsFile& dump(const Record& record, std::int64_t rank, std::int64_t step);
  /// Values of the float64 reference.
  const SafetensorsEntry& truth(std::int64_t step, const std::string& key);
  /// Compares a number with that of the float64 reference.
  ComparedValue compare(const Item& item, double candidate, const std::string& got);
  Measured compare(std::int64_t rank, std::int64_t step, const std::string& item, const std::string& key,
                   const std::string& shadow_key, const std::string& digest);
  Measured measured(const Item& item, double error) const;

  const Calibration& calibration_;
  const Record &shadow_, &candidate_;
  std::map<std::pair<std::filesystem::path, std::int64_t>, SafetensorsFile> dumps_;
  std::map<Item, double> scalars_;  ///< of the float64 reference's current rows; empty: not read
};

/// Largest limit of any loss.
double loosest_loss(const Calibration& calibration);

}  // namespace plumbline::judging
