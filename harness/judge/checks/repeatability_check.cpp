// SPDX-License-Identifier: BSD-3-Clause
// repeatability (R0): a repeated run gives the same bits, row by row.
// resume (R6): a resumed run begins with the reference's state and position in the data.

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "harness/judge/checks/checks.hpp"
#include "harness/judge/comparability.hpp"
#include "harness/judge/diff/diff.hpp"
#include "harness/judge/execution_order.hpp"
#include "harness/judge/facts/fact.hpp"
#include "support/signals.hpp"

namespace plumbline::judging {
namespace {

/// Whether the second run completed, according to its launcher and its record.
std::optional<std::string> why_second_run_failed(const CellEvidence& evidence) {
  const auto& launch = evidence.plan.repeat_launch;
  if (launch && (launch->timed_out || launch->exit_code != 0))
    return launch->words.empty() ? "it ended with code " + exit_code_text(launch->exit_code) : launch->words;
  if (!evidence.repeated->record()) return "it left no readable record: " + evidence.repeated->error();
  for (const auto& rank : evidence.repeated->record()->ranks) {
    if (rank.exit && rank.exit->status == "ok" && rank.exit->code == 0) continue;
    return fmt::format("rank {}{}", rank.rank,
                       rank.exit ? " ended with status " + rank.exit->status : " left no exit.json");
  }
  return std::nullopt;
}

auto key_and_place(const Fact& fact) {
  return std::pair(fact.key(), fact.place);
}

class RepeatabilityCheck : public StepCheck {
 public:
  explicit RepeatabilityCheck(const CellEvidence& evidence) : StepCheck(evidence, empty()) {
    if (!evidence_.repeated || why_second_run_failed(evidence_)) return;
    for (const auto& words : why_the_same_run(evidence_.candidate, *evidence_.repeated->record())) differ(words);
  }

  /// Every fact, at its place.
  void step(const StepEvidence& now) override {
    if (!evidence_.repeated || !evidence_.repeated->record()) return;
    const Facts again = in_order(recorded_facts(*evidence_.repeated->record())), once = in_order(now.facts.candidate);
    auto left = once.begin(), right = again.begin();
    while (left != once.end() || right != again.end()) {
      const bool of_first =
          right == again.end() || (left != once.end() && key_and_place(*left) <= key_and_place(*right));
      const bool of_second =
          left == once.end() || (right != again.end() && key_and_place(*right) <= key_and_place(*left));
      const std::string before = of_first ? text_of(left->value) : "no row";
      const std::string after = of_second ? text_of(right->value) : "no row";
      if (of_first && of_second) builder_.compare("items");
      if (before != after) report(now, of_first ? *left : *right, before, after);
      left += of_first ? 1 : 0, right += of_second ? 1 : 0;
    }
  }

  LocatedResult conclude() override {
    if (!evidence_.repeated) return empty().conclude_as(Outcome::incomplete, "the case was not run twice");
    if (const auto words = why_second_run_failed(evidence_)) {
      builder_ = empty();
      differ("the second run failed: " + *words);
      return builder_.conclude_as(Outcome::differs, "");
    }
    const auto least = evidence_.steps() * evidence_.own_microbatches();
    return builder_.conclude(std::to_string(builder_.count("items")) + " digests, losses and norms repeat to the bit",
                             {{"items", least}});
  }

 private:
  static Facts in_order(Facts facts) {
    std::ranges::stable_sort(facts, {}, key_and_place);
    return facts;
  }

  void report(const StepEvidence& now, const Fact& fact, const std::string& expected, const std::string& got) {
    const auto microbatch = fact.microbatch < 0 ? std::nullopt : std::optional(fact.microbatch);
    builder_.diverge(point_of(now, fact), {.step = now.step,
                                           .microbatch = microbatch,
                                           .rank = fact.place.rank,
                                           .item = name_of(fact),
                                           .expected = expected,
                                           .got = got,
                                           .why = "differs between the two runs"});
  }

  static CheckResultBuilder empty() { return {"repeatability", "R0", "0 ULP between two runs of this case"}; }

  void differ(const std::string& words) { builder_.diverge(at_structure(), {.item = "run", .words = words}); }
};

std::optional<std::string> not_repeated(const CellPlan& plan, const Manifest&) {
  if (plan.repeat) return std::nullopt;
  return "this case was not run twice";
}

}  // namespace

CheckDescriptor repeatability_check() {
  return {.name = "repeatability",
          .claims = "the same run, repeated, has the same bits, row by row.",
          .needs_in_words = "the case's id in the sweep file's `repeat`.",
          .cannot_see = "errors that happen every time. Times and memory may differ.",
          .beyond_the_run = true,
          .not_applicable = not_repeated,
          .make = make_check<RepeatabilityCheck>};
}

namespace {

class ResumeCheck : public StepCheck {
 public:
  explicit ResumeCheck(const CellEvidence& evidence)
      : StepCheck(evidence, {"resume", "R6", "0 ULP: the resumed state is the state after the step before"}) {}

  void step(const StepEvidence& now) override {
    if (evidence_.first_step() == 0) return;  // it should have resumed, but started from the beginning
    if (now.step < 0)
      return compare_columns(now, {Column::parameter, Column::copy, Column::moment1, Column::moment2}, builder_);
    if (now.step != evidence_.first_step()) return;
    compare_columns(now, {Column::ids, Column::rate, Column::rate_of_parameter}, builder_);
  }

  LocatedResult conclude() override {
    if (evidence_.first_step() == 0)
      return builder_.conclude_as(Outcome::incomplete, "the record begins with step 0: the run did not resume");
    return builder_.conclude(fmt::format("the run resumed at step {} with the reference's parameters and optimizer "
                                         "state, and with that step's data and learning rate",
                                         evidence_.first_step()),
                             {});
  }
};

std::optional<std::string> not_resumed(const CellPlan& plan, const Manifest& candidate) {
  if (candidate.first_step > 0 || (plan.request && plan.request->first_step.value_or(0) > 0)) return std::nullopt;
  return "the run started at step 0";
}

}  // namespace

CheckDescriptor resume_check() {
  return {
      .name = "resume",
      .claims =
          "a resumed run starts with the parameters and optimizer moments that the reference had after the step "
          "before, and its first step uses that step's data and learning rate.",
      .needs_in_words =
          "a record that [begins after step 0](record-format.md#resumed-runs). All other checks compare it with the "
          "reference from its first step on.",
      .cannot_see = "a lost step count of the optimizer; it shows in the first update (`parameters`, `audit`).",
      .level = RecordLevel::full,
      .needs = {"parameters", "moments"},
      .compares_without = {"inputs", "labels"},
      .not_applicable = not_resumed,
      .make = make_check<ResumeCheck>};
}

}  // namespace plumbline::judging
