// parameters (R5): the start, then the learning rate, every parameter and every optimiser moment after each step.
#include <cmath>

#include "harness/judge/checks/checks.hpp"
#include "harness/judge/checks/tensor_comparison.hpp"
#include "support/numbers.hpp"

namespace plumbline::judging {
namespace {

/// The rate applied in a step, on every rank, also on one that owns nothing.
void compare_learning_rates(const CellEvidence& evidence, std::int64_t step, Judgement& judgement) {
  const auto& theirs = evidence.reference_rows.steps(step);
  const auto text = [](const StepRow& row) { return row.learning_rate ? to_text(*row.learning_rate) : "absent"; };
  const std::string expected = theirs.empty() ? "absent" : text(*theirs.front().row);
  for (const auto& placed : evidence.candidate_rows.steps(step)) {
    const std::string got =
        text(*placed.row);  // the shortest text that reads back to the same bits: equal only for equal bits
    judgement.compare("learning_rates");
    if (expected == got && std::isfinite(placed.row->learning_rate.value_or(NAN))) continue;
    FirstDivergence divergence;
    divergence.step = step;
    divergence.rank = placed.rank;
    divergence.item = "learning_rate";
    divergence.expected = expected;
    divergence.got = got;
    divergence.words = "learning rate at " + step_words(step) + " on rank " + std::to_string(placed.rank) + " is " +
                       divergence.got + ", not " + divergence.expected;
    judgement.diverge(at_learning_rate(step), std::move(divergence));
  }
}

/// Parameters of the reference that a step changed: only in these could a wrong update be seen.
std::int64_t count_moved(const CellEvidence& evidence, Judgement& judgement) {
  std::int64_t moved = 0;
  for (const auto& parameter : evidence.model.parameters) {
    for (std::int64_t step = 0; step < evidence.steps(); ++step) {
      const auto& before = evidence.reference_rows.tensors(step - 1, "parameter", parameter.name);
      const auto& after = evidence.reference_rows.tensors(step, "parameter", parameter.name);
      if (before.empty() || after.empty() || before.front().row->digest == after.front().row->digest) continue;
      ++moved;
    }
  }
  judgement.look_at("moved_tensors", moved);
  return moved;
}

}  // namespace

Judged check_parameters(const CellEvidence& evidence) {
  Judgement judgement("parameters", "R5", value_limit(evidence));
  compare_tensors(evidence, -1, "parameter", judgement);
  compare_tied_copies(evidence, -1, "parameter", judgement);
  if (judgement.diverged())
    return judgement.conclude_as(Outcome::fails, "");  // not the same start: what follows says nothing

  std::vector<std::string> kinds = {"parameter"};
  for (const auto& kind : moment_kinds(evidence)) kinds.push_back(kind);
  for (std::int64_t step = 0; step < evidence.steps(); ++step) {
    compare_learning_rates(evidence, step, judgement);
    report_moments_that_the_optimiser_lacks(evidence, step, kinds, judgement);
    for (const auto& kind : kinds) {
      compare_tensors(evidence, step, kind, judgement);
      compare_tied_copies(evidence, step, kind, judgement);
    }
  }
  if (evidence.steps() < 2) judgement.not_shown("optimiser state that is lost between steps: the run has one step");
  if (count_moved(evidence, judgement) == 0)
    judgement.not_shown("a wrong update: no parameter of the reference differs from the step before");
  const auto parameters = static_cast<std::int64_t>(evidence.model.parameters.size());
  const auto ranks = static_cast<std::int64_t>(evidence.candidate.ranks.size());
  return judgement.conclude(
      std::to_string(parameters) + " parameters and their optimiser state, at the start and after " +
          std::to_string(evidence.steps()) + " steps, are " + agreement(evidence),
      {{"tensors", parameters * (evidence.steps() + 1)}, {"learning_rates", ranks * evidence.steps()}});
}

}  // namespace plumbline::judging
