// SPDX-License-Identifier: BSD-3-Clause
// Builder of a check's result: counts, differences, and the first divergence in execution order.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "harness/judge/execution_order.hpp"
#include "harness/judge/limits/value_comparison.hpp"
#include "record/verdict.hpp"

namespace plumbline::judging {

/// A check's result and the execution point of its first divergence.
struct LocatedResult {
  CheckResult result;
  std::optional<ExecutionPoint> point;
};

class CheckResultBuilder {
 public:
  /// `level`: R1 ... R5, or the check's name; `limit`: the requirement, in words.
  CheckResultBuilder(std::string name, std::string level, std::string limit);

  /// Counts values that were compared with another record's or with one that the judge computed. Headlines count these.
  void compare(const std::string& what, std::int64_t count = 1) { result_.compared[what] += count; }
  /// Counts values that were only inspected: sizes, forms, the reference's own rows.
  void inspect(const std::string& what, std::int64_t count = 1) { result_.inspected[what] += count; }
  /// Counts items that both runs have: as compared for the candidate, as inspected for the reference.
  void compare_or_inspect(bool compared, const std::string& what, std::int64_t count = 1) {
    compared ? compare(what, count) : inspect(what, count);
  }
  /// A figure of the case; keeps the largest.
  void evidence(const std::string& what, std::int64_t value) {
    std::int64_t& figure = result_.evidence[what];
    figure = std::max(figure, value);
  }
  /// Adds a difference. If it has no level it gets the check's; if it has no words, those of words_of().
  void diverge(const ExecutionPoint& point, Finding finding);
  /// Names something that was not inspected because external records may lack it; the reason mentions it.
  void leave_out(const std::string& what) { left_out_.push_back(what); }
  /// A part of the claim that these runs do not cover, with the reason; does not change the outcome.
  void not_shown(const std::string& what) { result_.not_shown.push_back(what); }
  /// Why rows that the check needs are missing (empty: none are). The check then has no minimum count, and if the
  /// existing rows agree, it is incomplete with these words.
  void not_recorded(const std::string& why) { not_recorded_ = why; }
  void measured(const std::string& text) { result_.measured = text; }
  void margin(double value) { result_.margin = value; }
  /// Adds the result of a comparison of values and returns its difference, which the caller adds with its place. In the
  /// mode calibrated it notes each measured value, within its limit or not: the largest margin is shown, with a warning
  /// above 0.5.
  std::optional<ValueDifference> take(const ComparedValue& value);
  /// The prediction of the activation memory model for one rank, for the report's plot.
  void predicted_peaks(std::vector<std::int64_t> bytes) { result_.predicted_peak_bytes = std::move(bytes); }

  bool diverged() const { return point_.has_value(); }
  /// Number of compared and of inspected items.
  std::int64_t count(const std::string& what) const;

  /// Merges the result of a part of the same check after the findings so far: of two differences at one point the
  /// earlier one remains.
  void absorb(CheckResultBuilder part);

  /// Ends the check. Differs if anything diverged, or if fewer items than `floors` were compared or inspected;
  /// incomplete if there are no items of `revealing`, the kinds that could reveal a fault; otherwise holds, and `shown`
  /// says what was shown.
  LocatedResult conclude(const std::string& shown, const Counts& floors,
                         const std::vector<std::string>& revealing = {});
  /// Ends the check with an outcome other than holds, unless something diverged: then it differs.
  LocatedResult conclude_as(Outcome outcome, const std::string& reason);

 private:
  void note_item(const ExecutionPoint& point, const std::string& item);
  void note(const Measured& value);
  std::string failure_words() const;
  std::string margin_words() const;

  CheckResult result_;
  std::string level_;
  std::optional<ExecutionPoint> point_;
  std::int64_t divergences_ = 0;
  std::vector<std::pair<ExecutionPoint, std::string>>
      items_;  ///< differing items in the group and step of the first divergence
  std::vector<std::string> left_out_;
  std::string not_recorded_;
  std::optional<Measured> nearest_;  ///< the measured value with the largest margin
  std::int64_t measured_ = 0, warned_ = 0;
};

/// A result that needs no table.
LocatedResult without_looking(const std::string& name, Outcome outcome, const std::string& reason);

}  // namespace plumbline::judging
