// SPDX-License-Identifier: BSD-3-Clause
// Comparison of a candidate's value with the reference's: bit for bit, or in the mode calibrated within limits.
// Everything that is not a value (shapes, counts, inputs, ...) is compared exactly in both modes.
#pragma once

#include <cstdint>
#include <exception>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "harness/judge/limits/limits.hpp"
#include "record/record.hpp"
#include "record/record_stream.hpp"
#include "support/error.hpp"
#include "support/safetensors.hpp"

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
  /// The requirement: "0 ULP", or the rule of the mode calibrated.
  virtual std::string demand() const = 0;
  /// "the same bits", or "within their limits".
  virtual std::string agreement() const = 0;
  /// True if bits are compared, so that no difference is due to rounding.
  virtual bool exact() const = 0;

  /// The loss of a microbatch, a step or an evaluation.
  virtual ComparedValue loss(const Item& item, float reference, float candidate) = 0;
  virtual ComparedValue gradient_norm(std::int64_t step, double reference, double candidate) = 0;
  /// `rank`: the candidate's, owner of the row `candidate`.
  virtual ComparedValue tensor(std::int64_t rank, const TensorRow& reference, const TensorRow& candidate) = 0;
  virtual ComparedValue boundary(std::int64_t rank, const BoundaryRow& reference, const BoundaryRow& candidate) = 0;
};

/// Compares bits.
ValueComparison& in_bits();

// Comparison of values in the mode calibrated: each error relative to the float64 reference must be within its limit.

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
  /// Compares a number with the float64 reference's.
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

/// Throws only in refuse_unfit(), because `completion` first reports records that cannot be read.
class CalibratedTier {
 public:
  /// Keeps references to the records.
  CalibratedTier(std::filesystem::path calibration_file, const Record& reference, const Record& candidate);

  /// Advances the float64 reference to this step, the current one of the reference.
  void go_to(std::int64_t step);
  /// The comparison of values; compares bits if the calibration cannot be used, which refuse_unfit() then reports.
  ValueComparison& values() { return failure_ || !limits_ ? in_bits() : *limits_; }
  /// Call after the last step. Throws InputError if the calibration is invalid, belongs to another training, its
  /// float64 reference is missing, or the candidate has no dumps.
  void refuse_unfit() const;

 private:
  void open();

  std::filesystem::path file_;
  const Record &reference_, &candidate_;
  std::exception_ptr failure_;
  Calibration calibration_;
  std::optional<RecordStream> shadow_;
  std::vector<std::string> differences_;
  std::optional<WithinLimits> limits_;
};

// calibration.json, schema plumbline-calibration/2 (docs/exactness.md, Comparison modes).

inline constexpr const char* calibration_schema = "plumbline-calibration/2";

/// Writes the path of the float64 reference relative to the file's folder.
void write_calibration(const std::filesystem::path& path, const Calibration& calibration);

/// Throws InputError naming file and key: missing file, unsupported schema, missing key, no limit at all, a limit that
/// is negative or no number, a number that does not follow from the others, fewer than 20 perturbed runs.
Calibration read_calibration(const std::filesystem::path& path);

}  // namespace plumbline::judging
