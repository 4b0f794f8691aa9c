// SPDX-License-Identifier: BSD-3-Clause
// audit: recomputes both records, each alone, by the judge's own formulas. Only this check detects errors that both
// trainers share, which leave two equal records.
#include <fmt/format.h>

#include <map>
#include <set>

#include "harness/judge/audit/audit.hpp"
#include "harness/judge/audit/power.hpp"
#include "harness/judge/checks/checks.hpp"
#include "record/removed_dumps.hpp"
#include "support/text.hpp"

namespace plumbline::judging {
namespace {

/// Ordered after every item of its kind: if a comparison of records finds the same, it is more specific.
constexpr std::int64_t after_comparisons = 1'000'000;

ExecutionPoint behind(ExecutionPoint point) {
  point.position = after_comparisons;
  return point;
}

ExecutionPoint point_of(const Finding& finding) {
  const std::string& part = finding.level;
  const std::int64_t step = finding.step, microbatch = finding.microbatch.value_or(0);
  if (part == auditing::part::structure) return at_structure(Structure::audit);
  if (part == auditing::part::data) return at_data(step, after_comparisons);
  if (part == auditing::part::forward) return at_boundary(step, microbatch, part, after_comparisons);
  if (part == auditing::part::loss) return at_step_loss(step);
  // ordered from the last stage boundary to the first
  if (part == auditing::part::backward) return at_boundary(step, microbatch, part, -after_comparisons);
  if (part == auditing::part::gradient) return at_gradient(step, -after_comparisons, 0);
  if (part == auditing::part::norm) return behind(at_norm(step));
  if (part == auditing::part::learning_rate) return at_learning_rate(step);
  if (part == auditing::part::evaluation) return at_evaluation(step, finding.microbatch.value_or(after_comparisons));
  return at_parameter(step, after_comparisons, StateKind::parameter, 0);
}

/// "no update 98304, applied twice 98304, ... of 98304 elements".
std::string power_words(const auditing::Audit& audit) {
  std::map<std::string, std::int64_t> tells;
  std::int64_t elements = 0;
  for (const auto& [kind, power] : audit.power) {
    elements += power.elements;
    for (const auto& [mistake, number] : power.tells) tells[mistake] += number;
  }
  if (elements == 0) return "no update was recomputed";
  std::vector<std::string> parts;
  for (const auto& [mistake, number] : tells) parts.push_back(fmt::format("{} {}", mistake, number));
  return fmt::format("of {} updated elements each of these mistakes would be detected in so many: {}", elements,
                     join(parts, ", "));
}

bool at_level_dump(const CellEvidence& evidence) {
  return evidence.reference.manifest.level == RecordLevel::dump &&
         evidence.candidate.manifest.level == RecordLevel::dump;
}

/// False if only tables are recomputed.
bool has_values(const CellEvidence& evidence) {
  return at_level_dump(evidence) && !dumps_were_removed(evidence.reference.path) &&
         !dumps_were_removed(evidence.candidate.path);
}

class AuditCheck : public StepCheck {
 public:
  explicit AuditCheck(const CellEvidence& evidence)
      : StepCheck(evidence,
                  {"audit", "audit",
                   has_values(evidence)
                       ? "coefficients, rates, sums and counts exactly; updates within rounding"
                       : "coefficients, rates and sums exactly; norms at 1e-10, first moments within rounding"}),
        reference_(evidence.reference, {.values = has_values(evidence), .alone = false}),
        candidate_(evidence.candidate, {.values = has_values(evidence), .alone = false}) {}

  void step(const StepEvidence& now) override {
    reference_.step(now.step, now.reference_before);
    candidate_.step(now.step, now.candidate_before);
  }

  LocatedResult conclude() override {
    const auditing::Audit theirs = take(reference_, "the reference: "), mine = take(candidate_, "");
    const Counts floors = {{"recomputed_numbers", 2 * evidence_.steps()}};
    if (at_level_dump(evidence_) && !has_values(evidence_)) {
      const std::string whose = !dumps_were_removed(evidence_.candidate.path)  ? "the reference"
                                : dumps_were_removed(evidence_.reference.path) ? "both records"
                                                                               : "the candidate";
      std::string why = "values are not recomputed again: the dumps of ";
      why.append(whose).append(" were removed (").append(removed_dumps_name);
      why.append(" says why); the tables of both records are consistent");
      return builder_.conclude_as(Outcome::not_run, why);
    }
    if (!theirs.from_values || !mine.from_values) {
      return builder_.conclude("the tables of both records are consistent", floors);
    }
    const auto blind = auditing::what_it_cannot_see(mine);
    if (!blind.empty()) {
      return builder_.conclude_as(Outcome::not_triggered,
                                  "no difference was found, but some would go undetected: " + join(blind, "; "));
    }
    return builder_.conclude("every step of both records agrees with its recomputation; " + power_words(mine), floors);
  }

 private:
  auditing::Audit take(auditing::RecordAudit& record, const std::string& whose) {
    auditing::Audit audit = record.conclude();
    for (const auto& [what, count] : audit.recomputed) builder_.compare("recomputed_" + what, count);
    for (Finding& finding : audit.findings) {
      const ExecutionPoint point = point_of(finding);
      finding.level = "audit";
      finding.words = whose + words_of(finding);
      builder_.diverge(point, std::move(finding));
    }
    for (const auto& what : audit.not_audited) {
      if (said_.insert(what).second) builder_.not_shown(what);
    }
    return audit;
  }

  auditing::RecordAudit reference_, candidate_;
  std::set<std::string> said_;  ///< report only once what both records lack
};

}  // namespace

CheckDescriptor audit_check() {
  return {
      .name = "audit",
      .place = 120,
      .claims =
          "code that both trainers share is correct: norm, clip coefficient, optimiser step and counts are recomputed "
          "from the record by the judge's own formulas; at level dump element by element. Without dumps, "
          "a tensor that a step must change but leaves unchanged is found.",
      .needs_in_words =
          "level full; single elements need level dump in both records, as in the cases that a sweep file's key "
          "`audit` adds. Without dumps (a sweep removes them when all holds, `--keep-dumps` keeps them) only "
          "tables are recomputed and values are *not run* (informational).",
      .cannot_see = "forward and backward pass of the model (goldens, cross-check).",
      .level = RecordLevel::full,
      .make = make_check<AuditCheck>};
}

}  // namespace plumbline::judging
