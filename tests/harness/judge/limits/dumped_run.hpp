// SPDX-License-Identifier: BSD-3-Clause
// A synthetic run with values: every tensor of its tables in its dumps, off the true values by so many units in the
// last place.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "harness/judge/limits/limits.hpp"
#include "tests/harness/judge/synthetic_run.hpp"

namespace plumbline::testing {

/// True values lie between 1 and 2 and follow from step and name. `ulps`: of float32, that every element is off; a
/// shadow is off by none. Keys are those of the dumps: "gradient/model.norm.weight",
/// "boundary/forward/3/layers.1/send".
struct DumpedRun {
  SyntheticRun run;
  int ulps = 0;
  bool shadow = false;  ///< in float64
  using Key = std::pair<std::int64_t, std::string>;
  std::map<Key, int> other_ulps = {};  ///< this tensor is off by another number
  std::set<Key> with_nan = {};         ///< its first element, unknown to the tables
  std::set<Key> not_dumped = {};
  std::set<Key> with_other_digest = {};

  /// Writes record and dumps; returns `folder`.
  std::filesystem::path write(const std::filesystem::path& folder) const;
};

/// Reference (1 ULP off), shadow, candidate (2 ULP off) and a calibration of 20 runs that were as far off as the
/// reference: its limits are 4 times that.
class CalibratedCell {
 public:
  CalibratedCell();
  /// Writes all four and judges, `change` done to the calibration before it is written: by all checks but `audit`. That
  /// one computes a record's values out of each other, and here every value stands for itself, so that one of them can
  /// be moved alone. Records whose values do follow are TrainedRun's.
  CellVerdict compare(const std::function<void(judging::Calibration&)>& change = nullptr);
  /// What compare() wrote, in bits, by the same checks.
  CellVerdict compare_in_bits() const;
  /// What was written, by that calibration.
  CellVerdict judge(const std::optional<std::filesystem::path>& calibration) const;

  TemporaryFolder folder;
  DumpedRun reference, shadow, candidate;
};

/// The calibration of `folder`/reference, with `folder`/shadow, by runs that were as far off as the reference.
judging::Calibration calibration_of_itself(const std::filesystem::path& folder);

}  // namespace plumbline::testing
