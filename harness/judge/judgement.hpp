// SPDX-License-Identifier: BSD-3-Clause
// What a check collects while it looks: counts, differences, and the earliest of these in execution order.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "harness/judge/execution_order.hpp"
#include "harness/judge/limits/value_comparison.hpp"
#include "record/verdict.hpp"

namespace plumbline::judging {

/// A check's result and where in the execution order its first divergence lies.
struct Judged {
  CheckResult result;
  std::optional<ExecutionPoint> point;
};

class Judgement {
 public:
  /// `rung`: R1 ... R5, or the check's name; `limit`: what was demanded, for people.
  Judgement(std::string name, std::string rung, std::string limit);

  /// Held against another record's value, or against one that the judge computed for itself: what a headline may count.
  void compare(const std::string& what, std::int64_t count = 1) { result_.compared[what] += count; }
  /// Gone through beside that: sizes, forms, the reference's own rows.
  void look_at(const std::string& what, std::int64_t count = 1) { result_.looked_at[what] += count; }
  /// What two runs of one kind have been through: of the candidate it is compared, of the reference looked at.
  void compare_or_look_at(bool compared, const std::string& what, std::int64_t count = 1) {
    compared ? compare(what, count) : look_at(what, count);
  }
  /// A difference. `rung` is filled in where the place has none of its own.
  void diverge(const ExecutionPoint& point, FirstDivergence divergence);
  /// The same, of something that belongs to a step and a rank and to no microbatch or cut.
  void diverge(const ExecutionPoint& point, std::int64_t step, std::optional<std::int64_t> rank,
               const std::string& item, const std::string& expected, const std::string& got, const std::string& words);
  /// What could not be looked at, because a record of role external may lack it: said in the reason.
  void leave_out(const std::string& what) { left_out_.push_back(what); }
  /// A part of the claim that these runs could not have shown wrong, with why; it changes no outcome.
  void not_shown(const std::string& what) { result_.not_shown.push_back(what); }
  /// Why rows of what the check needs are absent (empty: none are): it then demands no number of comparisons, and where
  /// what there is agrees it ends as not run, with these words.
  void not_recorded(const std::string& why) { not_recorded_ = why; }
  void measured(const std::string& text) { result_.measured = text; }
  void margin(double value) { result_.margin = value; }
  /// What a comparison of values found; its difference is handed on, to be told with its place. Of the calibrated tier
  /// each measured value is noted, inside its limit or not: the largest margin of all is shown, and warned of above
  /// 0.5.
  std::optional<ValueDifference> take(const ComparedValue& value);
  /// Of one rank, for the report's plot: what the memory law gives.
  void predicted_peaks(std::vector<std::int64_t> bytes) { result_.predicted_peak_bytes = std::move(bytes); }

  bool diverged() const { return point_.has_value(); }
  /// Of what was compared and of what was looked at.
  std::int64_t count(const std::string& what) const;

  /// Takes over what a part of the same check has counted and found, behind all that was found so far: of two
  /// differences at one place the first stays.
  void absorb(Judgement part);

  /// Ends the check: fails when anything diverged, or when less than `floors` was gone through; not triggered when
  /// there is nothing of `telling`, the kinds of things in which a fault could have been seen; else holds, and `shown`
  /// says what that shows.
  Judged conclude(const std::string& shown, const Counts& floors, const std::vector<std::string>& telling = {});
  /// Ends the check with another outcome than holds, unless something diverged: then it fails all the same.
  Judged conclude_as(Outcome outcome, const std::string& reason);

 private:
  void note_item(const ExecutionPoint& point, const std::string& item);
  void note(const Measured& value);
  std::string failure_words() const;
  std::string margin_words() const;

  CheckResult result_;
  std::string rung_;
  std::optional<ExecutionPoint> point_;
  std::int64_t divergences_ = 0;
  std::vector<std::pair<ExecutionPoint, std::string>> items_;  ///< that differ in the group and step of the earliest
  std::vector<std::string> left_out_;
  std::string not_recorded_;
  std::optional<Measured> nearest_;  ///< of what was measured, that with the largest margin
  std::int64_t measured_ = 0, warned_ = 0;
};

/// A result without a look at any table.
Judged without_looking(const std::string& name, Outcome outcome, const std::string& reason);

}  // namespace plumbline::judging
