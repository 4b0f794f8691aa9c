// One line a check: what it needs, where it applies, and whether a cell can hold without it.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "harness/judge/cell_plan.hpp"
#include "harness/judge/checks/checks.hpp"
#include "record/verdict.hpp"

namespace plumbline::judging {

/// Where a cell that lacks the check does not hold.
enum class Required {
  always,          ///< whatever checks were asked for: a run that broke off, or another than was asked for
  where_asked,     ///< unless other checks were asked for
  on_bench_alone,  ///< and only where the data were chosen to let it show something
};

/// Where two records clip by coefficients that differ as rounding does (norm_order per_rank), what is still compared.
enum class BehindNorm {
  all,        ///< it compares no value that follows from the coefficient
  gradients,  ///< the step's values before the update, and nothing of later steps
  nothing,    ///< nor the step's update
};

struct Rule {
  std::string check;
  RecordLevel level = RecordLevel::summary;  ///< both records must have it
  bool same_start = false;                   ///< says nothing once the parameters of step -1 differ
  Required required = Required::where_asked;
  /// What it needs a record of role external may lack: where nobody planned the runs it is then told, and not required.
  bool external_may_lack = false;
  bool one_device_reference = false;  ///< does not apply where the reference ran on several ranks
  bool of_evaluations = false;        ///< does not apply where neither run evaluates
  BehindNorm behind_norm = BehindNorm::all;
  /// Kinds (record/not_recorded.hpp) without which it is not run: in either record, and in the reference's, by whose
  /// microbatches sizes are known.
  std::vector<std::string> needs = {}, needs_of_reference = {};
  /// Kinds without which it compares the rows that there are, and ends as not run unless it finds a difference.
  std::vector<std::string> compares_without = {};
  bool beyond_the_run = false;  ///< shown also the steps that the repeated record has beyond the cell's
  /// Why it does not apply, from the plan and the candidate's manifest alone; null where it always applies.
  std::optional<std::string> (*not_applicable)(const CellPlan& plan, const Manifest& candidate) = nullptr;
  /// Null for as_asked and completion, which are judged also where the records cannot be compared.
  std::unique_ptr<StepCheck> (*make)(const CellEvidence& evidence) = nullptr;
};

/// In the order of the table.
const std::vector<Rule>& all_rules();
/// Throws InputError naming the nearest.
const Rule& rule_of(const std::string& check);

bool asked_for(const CellPlan& plan, const std::string& check);
/// Of a check that was judged by this plan.
Requirement requirement_of(const CellPlan& plan, const CheckResult& result);
/// "the recorder could not see receives with torch 2.16.0": what the check needs and the records say that they lack.
/// Empty where they have it all. `could_compare`: of what it can compare the rest without.
std::string why_not_recorded(const Rule& rule, const Manifest& reference, const Manifest& candidate,
                             bool could_compare);
/// Whether it could not look because a record of role external lacks what it may lack.
bool lacks_what_externals_may(const CheckResult& result);

}  // namespace plumbline::judging
