// One cell, judged: the records are walked side by side, and every check that applies is shown each step.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "harness/judge/cell_plan.hpp"
#include "harness/judge/checks/as_asked.hpp"
#include "harness/judge/checks/checks.hpp"
#include "harness/judge/checks/gradient_factor.hpp"
#include "harness/judge/limits/calibrated_tier.hpp"
#include "harness/judge/rules.hpp"

namespace plumbline::judging {

class CellJudge {
 public:
  CellJudge(const CellPlan& plan, RecordReading& reference, RecordReading& candidate, RecordReading* repeated);
  ~CellJudge();

  /// Of all checks, in the order of the table. Throws InputError for a calibration that cannot be taken.
  std::vector<Judged> run();

 private:
  /// A check on its way: `object` until it has ended.
  struct Running {
    const Rule* rule;
    std::unique_ptr<StepCheck> object;
    std::optional<Judged> ended;
  };

  void prepare();
  void prepare_check(const Rule& rule);
  /// Why nothing can be judged but whether the runs are as asked and complete; empty where more can.
  std::string why_blocked(const Judged& completion) const;
  void walk();
  void go_to(std::int64_t step);
  bool readable() const { return reference_.record() && candidate_.record(); }
  void show(const StepEvidence& now, bool of_the_run);
  void end_where_starts_differ(const StepEvidence& start);
  bool behind_the_norm(const Rule& rule, std::int64_t step) const;
  void part_where_coefficients_differ(const StepEvidence& now);
  void say_where_they_part(const Rule& rule, CheckResult& result) const;
  void note_gradient_factor(const StepEvidence& now);
  void tell_gradient_factor(CheckResult& result) const;
  void read_what_is_left();
  std::vector<Judged> conclude();
  template <typename Use>
  static void guard(Running& running, Use use);

  const CellPlan& plan_;
  RecordReading &reference_, &candidate_;
  RecordReading* repeated_;
  std::optional<AsAskedCheck> as_asked_;
  std::optional<CalibratedTier> tier_;
  std::optional<CellEvidence> evidence_;
  std::string blocked_;
  std::vector<std::string> differences_;  ///< for which the records cannot be compared
  std::vector<Running> checks_;
  std::optional<GradientFactor> factor_;  ///< of the first step in which gradients differ
};

}  // namespace plumbline::judging
