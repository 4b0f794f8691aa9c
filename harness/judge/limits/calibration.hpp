// SPDX-License-Identifier: BSD-3-Clause
// The comparison mode calibrated for one case: its calibration, and the float64 reference's record, which is read in
// step with the others.
#pragma once

#include <cstdint>
#include <exception>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "harness/judge/limits/limits.hpp"
#include "harness/judge/limits/value_comparison.hpp"
#include "record/record_stream.hpp"

namespace plumbline::judging {

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
