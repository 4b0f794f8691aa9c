// SPDX-License-Identifier: BSD-3-Clause
// parameters (R5): the start, then the learning rate, every parameter and every optimizer moment after each step.
// buffers (R5): the persistent buffers of the model, at the start and after each step.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "harness/judge/checks/checks.hpp"
#include "harness/judge/diff/diff.hpp"
#include "harness/judge/execution_order.hpp"
#include "harness/judge/expected/model.hpp"
#include "harness/judge/facts/expected.hpp"
#include "harness/judge/predicates/predicates.hpp"
#include "support/numbers.hpp"
#include "support/text.hpp"

namespace plumbline::judging {
namespace {

class ParametersCheck : public StepCheck {
 public:
  explicit ParametersCheck(const CellEvidence& evidence)
      : StepCheck(evidence, {"parameters", "R5", evidence.values->demand()}) {}

  void step(const StepEvidence& now) override {
    if (other_start_) return;  // later steps are not comparable
    compare_claim(now, "parameters", builder_);
    if (now.step < 0) {
      other_start_ = builder_.diverged();
      return;
    }
    stateless_ = state_kinds(now).size() == 1;
    demand_finite_rates(now);
    count_moved(now);
  }

  LocatedResult conclude() override {
    if (other_start_) return builder_.conclude_as(Outcome::differs, "");
    builder_.inspect("moved_tensors", moved_);
    if (evidence_.steps() < 2) builder_.not_shown("optimizer state lost between steps (the run has only one step)");
    if (evidence_.compared_updates() == 0)
      builder_.not_shown("a wrong update (no update is compared)");
    else if (moved_ == 0)
      builder_.not_shown("a wrong update (no step of the reference changes a parameter)");
    if (stateless_ && has_no_state(evidence_.reference.manifest))
      builder_.not_shown("optimizer state (the records have none)");
    if (builder_.count(absent_in_both) > 0) builder_.not_shown("dropped optimizer state, where neither record has any");
    const auto recorded = [&](const std::string& kind) {
      return recorded_throughout(evidence_.reference, {kind}) && recorded_throughout(evidence_.candidate, {kind});
    };
    if (!recorded("moments")) builder_.not_shown("optimizer state, which was not recorded");
    if (!recorded("rates")) builder_.not_shown("learning rates, which were not recorded");
    const auto parameters = static_cast<std::int64_t>(evidence_.model.parameters.size());
    return builder_.conclude(fmt::format("{} and their optimizer state, at the start and after {}, are {}",
                                         quantity(parameters, "parameter"),
                                         quantity(evidence_.compared_updates(), "step"), evidence_.values->agreement()),
                             {});
  }

 private:
  /// For an unknown optimizer, which may have some.
  static bool has_no_state(const Manifest& manifest) {
    return manifest.json.at("optimizer").value("name", "") != "sgd";
  }

  void demand_finite_rates(const StepEvidence& now) {
    for (const Facts* facts : {&now.facts.reference, &now.facts.candidate}) {
      for (const Fact& fact : of_column(*facts, Column::rate_of_parameter)) {
        if (std::isfinite(std::get<double>(fact.value))) continue;
        builder_.diverge(at_learning_rate(now.step), {.step = now.step,
                                                      .rank = fact.place.rank,
                                                      .item = fmt::format("learning_rate of {}", fact.name),
                                                      .expected = "a finite number",
                                                      .got = to_text(std::get<double>(fact.value))});
      }
    }
  }

  /// Parameters that the reference's step changed: only these can show a wrong update.
  void count_moved(const StepEvidence& now) {
    for (const auto& parameter : evidence_.model.parameters) {
      const auto& before = now.reference_rows_before.tensors("parameter", parameter.name);
      const auto& after = now.reference_rows.tensors("parameter", parameter.name);
      if (before.empty() || after.empty() || before.front().row->digest == after.front().row->digest) continue;
      ++moved_;
      if (is_frozen(evidence_.reference.manifest, parameter.name))
        report_frozen(now.step, parameter.name, before.front().row->digest, after.front());
    }
  }

  void report_frozen(std::int64_t step, const std::string& name, const std::string& before,
                     const Located<TensorRow>& after) {
    const auto position = evidence_.model.parameter_position(name).value_or(0);
    builder_.diverge(tensor_point(step, "parameter", position, after.row->stage),
                     {.step = step,
                      .rank = after.rank,
                      .source = "the reference itself",
                      .item = name,
                      .what = "parameter " + name,
                      .expected = before,
                      .got = after.row->digest,
                      .why = "it is frozen by manifest.json, but changes"});
  }

  std::int64_t moved_ = 0;
  bool other_start_ = false, stateless_ = false;
};

}  // namespace

CheckDescriptor parameters_check() {
  return {.name = "parameters",
          .claims =
              "every parameter has the same bits at the start and after each step, and so have optimizer moments and "
              "learning rates after each step.",
          .cannot_see = "an update that is wrong in both runs (`audit`).",
          .level = RecordLevel::full,
          .values = Values::of_update,
          .compares_without = {"parameters"},
          .make = make_check<ParametersCheck>};
}

namespace {

class BuffersCheck : public StepCheck {
 public:
  explicit BuffersCheck(const CellEvidence& evidence) : StepCheck(evidence, {"buffers", "R5", "0 ULP"}) {}

  void step(const StepEvidence& now) override {
    const bool theirs = has_buffers(now.facts.reference), mine = has_buffers(now.facts.candidate);
    if (theirs && mine) compare_claim(now, "buffers", builder_);
    if (theirs != mine) only_in_ = mine ? "candidate" : "reference";
  }

  LocatedResult conclude() override {
    if (!only_in_.empty())
      return builder_.conclude_as(
          Outcome::incomplete,
          fmt::format("only the {} has buffers; if you record stages by hand, pass record.stage(..., buffers=)",
                      only_in_));
    if (builder_.count("buffers") == 0 && evidence_.not_recorded.empty())
      return builder_.conclude_as(Outcome::does_not_apply, "neither record has persistent buffers");
    return builder_.conclude("the persistent buffers have the same bits at the start and after each step", {});
  }

 private:
  static bool has_buffers(const Facts& facts) { return !of_column(facts, Column::buffer).empty(); }

  std::string only_in_;  ///< the record that alone has buffers
};

}  // namespace

CheckDescriptor buffers_check() {
  return {.name = "buffers",
          .claims =
              "every persistent buffer of the model (running statistics, counters, an expert's bias) has the "
              "same bits at the start and after each step.",
          .needs_in_words = "external records whose models have persistent buffers.",
          .cannot_see = "buffers that are not persistent.",
          .level = RecordLevel::full,
          .same_start = true,
          .values = Values::of_update,
          .compares_without = {"buffers"},
          .make = make_check<BuffersCheck>};
}

namespace {

namespace part = predicates::part;

/// Ordered after every item of its kind: if a comparison of records finds the same, it is more specific.
constexpr std::int64_t after_comparisons = 1'000'000;

ExecutionPoint behind(ExecutionPoint point) {
  point.position = after_comparisons;
  return point;
}

ExecutionPoint point_of(const Finding& finding) {
  const std::string& where = finding.level;
  const std::int64_t step = finding.step, microbatch = finding.microbatch.value_or(0);
  if (where == part::structure) return at_structure(Structure::audit);
  if (where == part::data) return at_data(step, after_comparisons);
  if (where == part::forward) return at_boundary(step, microbatch, where, after_comparisons);
  if (where == part::loss) return at_step_loss(step);
  // ordered from the last stage boundary to the first
  if (where == part::backward) return at_boundary(step, microbatch, where, -after_comparisons);
  if (where == part::gradient) return at_gradient(step, -after_comparisons, 0);
  if (where == part::norm) return behind(at_norm(step));
  if (where == part::learning_rate) return at_learning_rate(step);
  if (where == part::evaluation) return at_evaluation(step, finding.microbatch.value_or(after_comparisons));
  return at_parameter(step, after_comparisons, StateKind::parameter, 0);
}

class AuditCheck : public StepCheck {
 public:
  explicit AuditCheck(const CellEvidence& evidence)
      : StepCheck(evidence, {"audit", "audit", "coefficients, rates and sums exactly; norms at 1e-10"}),
        reference_(evidence.reference, /*alone=*/false),
        candidate_(evidence.candidate, /*alone=*/false) {}

  void step(const StepEvidence& now) override {
    reference_.step(now.step);
    candidate_.step(now.step);
  }

  LocatedResult conclude() override {
    take(reference_, "the reference: ");
    take(candidate_, "");
    return builder_.conclude("the tables of both records are consistent",
                             {{"recomputed_numbers", 2 * evidence_.steps()}});
  }

 private:
  void take(predicates::Predicates& record, const std::string& whose) {
    predicates::Report report = record.conclude();
    for (const auto& [what, count] : report.judged) builder_.compare("recomputed_" + what, count);
    for (Finding& finding : report.findings) {
      const ExecutionPoint point = point_of(finding);
      finding.level = "audit";
      finding.words = whose + words_of(finding);
      builder_.diverge(point, std::move(finding));
    }
    for (const auto& what : report.not_judged) {
      if (said_.insert(what).second) builder_.not_shown(what);
    }
  }

  predicates::Predicates reference_, candidate_;
  std::set<std::string> said_;  ///< report only once what both records lack
};

}  // namespace

CheckDescriptor audit_check() {
  return {
      .name = "audit",
      .claims =
          "the numbers of each record are consistent: the norm follows from the gradients, the clip coefficient from "
          "norm and limit, the rate from the schedule, a step's loss and tokens from its microbatches. All ranks have "
          "the same norm, received tensors equal sent ones, and copies of a tied weight are equal.",
      .cannot_see = "whether an update follows from its gradient ([cross-check](../python/README.md#what-it-finds)).",
      .level = RecordLevel::full,
      .make = make_check<AuditCheck>};
}

}  // namespace plumbline::judging
