// SPDX-License-Identifier: BSD-3-Clause
// Judges one case: the records are read in step with each other, and every applicable check sees each step.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "harness/judge/cell_plan.hpp"
#include "harness/judge/check_table.hpp"
#include "harness/judge/checks/as_asked_check.hpp"
#include "harness/judge/checks/checks.hpp"
#include "harness/judge/checks/gradient_factor.hpp"
#include "harness/judge/limits/calibrated_mode.hpp"

namespace plumbline::judging {

class CellJudge {
 public:
  CellJudge(const CellPlan& plan, RecordReading& reference, RecordReading& candidate, RecordReading* repeated);
  ~CellJudge();

  /// Results of all checks, in the order of the table. Throws InputError for a calibration that cannot be used.
  std::vector<LocatedResult> run();
  /// After run(): CellEvidence::norm_diverged_at.
  std::optional<std::int64_t> norm_diverged_at() const {
    return evidence_ ? evidence_->norm_diverged_at : std::nullopt;
  }

 private:
  /// A running check: `object` is null once it has ended.
  struct Running {
    const CheckDescriptor* check;
    std::unique_ptr<StepCheck> object;
    std::optional<LocatedResult> ended;
  };

  void prepare();
  void prepare_checks();
  void prepare_check(const CheckDescriptor& check);
  /// The reason why only the checks of the request and of completion can be judged; empty if all can.
  std::string why_blocked(const LocatedResult& completion) const;
  void walk();
  void go_to(std::int64_t step);
  bool readable() const { return reference_.record() && candidate_.record(); }
  void show(const StepEvidence& now, bool of_the_run);
  void skip_after_different_start(const StepEvidence& start);
  bool is_behind_norm(const CheckDescriptor& check, std::int64_t step) const;
  void limit_after_diverged_coefficients(const StepEvidence& now);
  void report_diverged_coefficients(const CheckDescriptor& check, CheckResult& result) const;
  void note_gradient_factor(const StepEvidence& now);
  void add_gradient_factor(CheckResult& result) const;
  void read_remaining_steps();
  std::vector<LocatedResult> conclude();
  template <typename Use>
  static void guard(Running& running, Use use);

  const CellPlan& plan_;
  RecordReading &reference_, &candidate_;
  RecordReading* repeated_;
  std::optional<AsAskedCheck> as_asked_;
  std::optional<CalibratedTier> tier_;
  std::optional<CellEvidence> evidence_;
  std::string blocked_;
  std::vector<std::string> differences_;  ///< reasons why the records are not comparable
  std::vector<Running> checks_;
  std::optional<GradientFactor> factor_;  ///< factor in the first step in which gradients differ
};

}  // namespace plumbline::judging
