// SPDX-License-Identifier: BSD-3-Clause
// A synthetic run with values: every tensor of its tables is dumped, with an error of some ULPs.
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

/// True values are between 1 and 2 and derive from step and name. `ulps`: error of every element in float32 ULPs; 0 for
/// a float64 reference. Keys are those of the dumps: "gradient/model.norm.weight", "boundary/forward/3/layers.1/send".
struct DumpedRun {
  SyntheticRun run;
  int ulps = 0;
  bool shadow = false;  ///< a float64 reference
  using Key = std::pair<std::int64_t, std::string>;
  std::map<Key, int> other_ulps = {};  ///< tensors with another error
  std::set<Key> with_nan = {};         ///< tensors whose first element is NaN, not reflected in the tables
  std::set<Key> not_dumped = {};
  std::set<Key> with_other_digest = {};

  /// Writes record and dumps; returns `folder`.
  std::filesystem::path write(const std::filesystem::path& folder) const;
};

/// Reference (error 1 ULP), float64 reference, candidate (2 ULP) and a calibration of 20 runs with the reference's
/// error: its limits are 4 times that.
class CalibratedCell {
 public:
  CalibratedCell();
  /// One line of tests/approved/within-limits.txt.
  void change(const std::string& line);
  /// Writes all four, changed, and judges with all checks but `audit`, which recomputes values from each other, but
  /// here all values are independent, so that a test can change single ones.
  CellVerdict compare();
  /// Judges the records of compare() in mode bits, with the same checks.
  CellVerdict compare_in_bits() const { return judge(std::nullopt); }

  TemporaryFolder folder;

 private:
  CellVerdict judge(const std::optional<std::filesystem::path>& calibration) const;

  std::map<char, DumpedRun> runs_;  ///< c, r, s
  std::vector<std::string> of_files_, later_, of_calibration_;
};

/// The calibration of `folder`/reference, with `folder`/shadow, from runs with the reference's error.
judging::Calibration calibration_of_itself(const std::filesystem::path& folder);

}  // namespace plumbline::testing
