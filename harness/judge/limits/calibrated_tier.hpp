// SPDX-License-Identifier: BSD-3-Clause
// The calibrated tier of one cell: its calibration, and the shadow's record, which is read along with the others.
#pragma once

#include <cstdint>
#include <exception>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "harness/judge/limits/limits.hpp"
#include "harness/judge/limits/within_limits.hpp"
#include "record/record_stream.hpp"

namespace plumbline::judging {

/// Throws nothing before refuse_unfit(): that a record cannot be read comes first, and is completion's to tell.
class CalibratedTier {
 public:
  /// The records must outlive it.
  CalibratedTier(std::filesystem::path calibration_file, const Record& reference, const Record& candidate);

  /// Reads the shadow on to this step, which the reference is at.
  void go_to(std::int64_t step);
  /// In bits where nothing can be measured, for reasons that refuse_unfit() has.
  ValueComparison& values() { return failure_ || !limits_ ? in_bits() : *limits_; }
  /// Behind the last step. Throws InputError for a calibration that cannot be read or is not of this training, whose
  /// shadow is not where it says, or for a candidate whose values are not dumped.
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

}  // namespace plumbline::judging
