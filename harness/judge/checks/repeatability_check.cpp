// SPDX-License-Identifier: BSD-3-Clause
// repeatability (R0): a repeated run gives the same bits, row by row.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "harness/judge/checks/checks.hpp"
#include "harness/judge/comparability.hpp"
#include "harness/judge/facts/fact.hpp"
#include "harness/judge/facts/positions.hpp"
#include "harness/judge/facts/recorded.hpp"
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
          .place = 190,
          .claims = "the same run, repeated, has the same bits, row by row.",
          .needs_in_words = "the case's id in the sweep file's `repeat`.",
          .cannot_see = "errors that happen every time. Times and memory may differ.",
          .beyond_the_run = true,
          .not_applicable = not_repeated,
          .make = make_check<RepeatabilityCheck>};
}

}  // namespace plumbline::judging
