// SPDX-License-Identifier: BSD-3-Clause
// parameters (R5): the start, then the learning rate, every parameter and every optimiser moment after each step.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>
#include <vector>

#include "harness/judge/checks/checks.hpp"
#include "harness/judge/checks/tensor_comparison.hpp"
#include "harness/judge/expected/expected_model.hpp"
#include "support/numbers.hpp"
#include "support/text.hpp"

namespace plumbline::judging {
namespace {

class ParametersCheck : public StepCheck {
 public:
  explicit ParametersCheck(const CellEvidence& evidence)
      : StepCheck(evidence, {"parameters", "R5", evidence.values->demand()}) {}

  void step(const StepEvidence& now) override {
    if (now.step < 0) {
      for (const auto& kind : parameter_kinds(now)) compare_tensors(now, kind, builder_);
      other_start_ = builder_.diverged();
    }
    if (now.step < 0 || other_start_) return;  // not the same start: later steps are not comparable
    if (kinds_.empty()) kinds_ = state_kinds(now);
    if (now.skipped()) ++skipped_;
    compare_updated(now);
    if (!now.skipped()) compare_learning_rates(now);
    report_moments_that_the_optimiser_lacks(now, kinds_, builder_);
    for (const auto& kind : kinds_) compare_tensors(now, kind, builder_);
    count_moved(now);
  }

  LocatedResult conclude() override {
    if (other_start_) return builder_.conclude_as(Outcome::fails, "");
    builder_.inspect("moved_tensors", moved_);
    if (evidence_.steps() < 2) builder_.not_shown("optimiser state that is lost between steps: the run has one step");
    if (evidence_.compared_updates() == 0)
      builder_.not_shown("a wrong update: the bits of none are compared");
    else if (moved_ == 0)
      builder_.not_shown("a wrong update: no parameter of the reference differs from the step before");
    if (kinds_.size() == 1 && has_no_state(evidence_.reference.manifest))
      builder_.not_shown("optimiser state: the records hold none");
    if (builder_.count(absent_in_both) > 0)
      builder_.not_shown("optimiser state that is dropped where neither record has any");
    const auto recorded = [&](const std::string& kind) {
      return evidence_.reference.manifest.recorded({kind}) && evidence_.candidate.manifest.recorded({kind});
    };
    if (!recorded("moments")) builder_.not_shown("optimizer state, which was not recorded");
    if (!recorded("rates")) builder_.not_shown("learning rates, which were not recorded");
    const auto parameters = static_cast<std::int64_t>(evidence_.model.parameters.size());
    const auto ranks = recorded("rates") ? static_cast<std::int64_t>(evidence_.candidate.ranks.size()) : 0;
    return builder_.conclude(fmt::format("{} and their optimiser state, at the start and after {}, are {}",
                                         quantity(parameters, "parameter"),
                                         quantity(evidence_.compared_updates(), "step"), evidence_.values->agreement()),
                             {{"tensors", parameters * (evidence_.compared_updates() + 1)},
                              {"learning_rates", ranks * (evidence_.compared_updates() - skipped_)}});
  }

 private:
  /// For an unknown optimiser, which may have some.
  static bool has_no_state(const Manifest& manifest) {
    return manifest.json.at("optimizer").value("name", "") != "sgd";
  }

  /// Compares the rate applied in a step: of each parameter if a record has several and both assign them to parameters,
  /// else of each rank, including ranks that own nothing.
  void compare_learning_rates(const StepEvidence& now) {
    for (const RecordIndex* rows : {&now.reference_rows, &now.candidate_rows}) demand_finite_rates(now.step, *rows);
    const auto theirs = rates_of(now.reference_rows), mine = rates_of(now.candidate_rows);
    const auto several = [](const Rates& rates) {
      return std::ranges::any_of(rates, [&](const auto& rate) { return rate.second != rates.begin()->second; });
    };
    if (theirs.empty() || mine.empty() || (!several(theirs) && !several(mine))) return compare_rates_of_ranks(now);
    builder_.compare("learning_rates", std::ssize(now.candidate_rows.steps()));
    for (const auto& placed : now.candidate_rows.all_tensors()) {
      if (placed.row->kind != "parameter") continue;
      const auto text = [&](const Rates& rates) {
        const auto found = rates.find(placed.row->name);
        return found == rates.end() ? std::string("absent") : to_text(found->second);
      };
      const std::string expected = text(theirs), got = text(mine);
      if (expected != got) report_rate(now.step, placed.rank, placed.row->name, expected, got);
    }
  }

  /// A step that one record's optimizers skipped alone.
  void compare_updated(const StepEvidence& now) {
    const auto theirs = any_updated(evidence_.reference.ranks);
    for (const auto& placed : now.candidate_rows.steps()) {
      const auto& mine = placed.row->updated;
      if (!theirs || !mine || *mine == *theirs) continue;
      builder_.diverge(at_learning_rate(now.step),
                       {.step = now.step,
                        .rank = placed.rank,
                        .item = "updated",
                        .what = fmt::format("the update of step {}", now.step),
                        .expected = *theirs ? "a step of the optimizer" : "no step of the optimizer",
                        .got = *mine ? "one" : "none"});
    }
  }

  using Rates = std::map<std::string, double>;
  static Rates rates_of(const RecordIndex& rows) {
    Rates rates;
    for (const auto& placed : rows.all_tensors())
      if (placed.row->kind == "parameter" && placed.row->learning_rate)
        rates.emplace(placed.row->name, *placed.row->learning_rate);
    return rates;
  }

  void demand_finite_rates(std::int64_t step, const RecordIndex& rows) {
    for (const auto& placed : rows.all_tensors()) {
      const double rate = placed.row->learning_rate.value_or(0);
      if (placed.row->kind == "parameter" && !std::isfinite(rate))
        report_rate(step, placed.rank, placed.row->name, "a finite number", to_text(rate));
    }
  }

  void report_rate(std::int64_t step, std::int64_t rank, const std::string& parameter, const std::string& expected,
                   const std::string& got) {
    builder_.diverge(at_learning_rate(step), {.step = step,
                                              .rank = rank,
                                              .item = "learning_rate" + (parameter.empty() ? "" : " of " + parameter),
                                              .expected = expected,
                                              .got = got});
  }

  /// External: a rank whose parameters are all frozen has no optimiser, and so no rate.
  bool trains_nothing(const StepEvidence& now, std::int64_t rank) const {
    const Manifest& manifest = evidence_.candidate.manifest;
    return manifest.traits.may_lack && std::ranges::none_of(now.candidate_rows.all_tensors(), [&](const auto& placed) {
             return placed.rank == rank && placed.row->kind == "parameter" && !is_frozen(manifest, placed.row->name);
           });
  }

  void compare_rates_of_ranks(const StepEvidence& now) {
    const auto& theirs = now.reference_rows.steps();
    const auto text = [](const StepRow& row) { return row.learning_rate ? to_text(*row.learning_rate) : "absent"; };
    const std::string expected = theirs.empty() ? "absent" : text(*theirs.front().row);
    if (expected == "absent" && !evidence_.reference.manifest.recorded({"rates"})) return;
    for (const auto& placed : now.candidate_rows.steps()) {
      const std::string got =
          text(*placed.row);  // the shortest text that reads back to the same bits: equal only for equal bits
      if (got == "absent" && !evidence_.candidate.manifest.recorded({"rates"})) continue;
      builder_.compare("learning_rates");
      if (got == "absent" && trains_nothing(now, placed.rank)) continue;
      if (expected == got && std::isfinite(placed.row->learning_rate.value_or(NAN))) continue;
      report_rate(now.step, placed.rank, "", expected, got);
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

  std::vector<std::string> kinds_;  ///< known from the first step on
  std::int64_t moved_ = 0, skipped_ = 0;
  bool other_start_ = false;
};

}  // namespace

CheckDescriptor parameters_check() {
  return {.name = "parameters",
          .place = 100,
          .claims =
              "the start, and after each step every parameter and optimiser moment, have the same bits, and so have "
              "the learning rates.",
          .needs_in_words = "level full.",
          .cannot_see = "an update that is wrong in both alike (`audit`).",
          .level = RecordLevel::full,
          .of_every_case = true,
          .values = Values::of_update,
          .compares_without = {"parameters"},
          .make = make_check<ParametersCheck>};
}

}  // namespace plumbline::judging
