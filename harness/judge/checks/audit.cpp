// audit: both records, each alone, recomputed by formulas of the judge's own. What both trainers do wrong alike leaves
// two equal records, and is seen here alone.
#include "harness/judge/audit/audit.hpp"

#include <algorithm>

#include "harness/judge/audit/power.hpp"
#include "harness/judge/checks/checks.hpp"
#include "support/text.hpp"

namespace plumbline::judging {
namespace {

/// Beyond every item of its kind: where a comparison of records sees the same, it says more.
constexpr std::int64_t after_comparisons = 1'000'000;

Moment moment_of(const auditing::Finding& finding) {
  switch (finding.place) {
    case auditing::Place::structure:
      return at_structure(after_comparisons);
    case auditing::Place::data:
      return at_data(finding.step, after_comparisons);
    case auditing::Place::forward:
      return at_forward(finding.step, finding.microbatch.value_or(0), after_comparisons, 0);
    case auditing::Place::loss:
      return at_step_loss(finding.step);
    case auditing::Place::backward:  // these run from the last cut to the first
      return at_backward(finding.step, finding.microbatch.value_or(0), -after_comparisons, 0);
    case auditing::Place::gradient:
      return at_gradient(finding.step, after_comparisons, 0);
    case auditing::Place::norm:
      return at_norm(finding.step, after_comparisons);
    case auditing::Place::learning_rate:
      return at_learning_rate(finding.step);
    case auditing::Place::parameter:
      break;
  }
  return at_parameter(finding.step, after_comparisons, 0, 0);
}

class RecordAudits {
 public:
  explicit RecordAudits(Judgement& judgement) : judgement_(judgement) {}

  auditing::Audit record(const Record& record, bool values, const std::string& whose) {
    auditing::AuditOptions options;
    options.values = values;
    auditing::Audit audit = auditing::audit_record(record, options);
    for (const auto& [what, count] : audit.recomputed) judgement_.compare("recomputed_" + what, count);
    for (const auto& finding : audit.findings) {
      FirstDivergence divergence;
      divergence.step = finding.step;
      divergence.microbatch = finding.microbatch;
      divergence.stage = finding.stage;
      divergence.rank = finding.rank;
      divergence.item = finding.item;
      divergence.expected = finding.expected;
      divergence.got = finding.got;
      divergence.words = whose + words_of(finding);
      judgement_.diverge(moment_of(finding), std::move(divergence));
    }
    for (const auto& what : audit.not_audited) {
      if (said_.insert(what).second) judgement_.not_shown(what);
    }
    return audit;
  }

 private:
  Judgement& judgement_;
  std::set<std::string> said_;  ///< what neither record has is said once
};

/// "no update 98304, applied twice 98304, ... of 98304 elements".
std::string power_words(const auditing::Audit& audit) {
  std::map<std::string, std::int64_t> tells;
  std::int64_t elements = 0;
  for (const auto& [kind, power] : audit.power) {
    elements += power.elements;
    for (const auto& [mistake, number] : power.tells) tells[mistake] += number;
  }
  std::vector<std::string> parts;
  for (const auto& [mistake, number] : tells) parts.push_back(mistake + " " + std::to_string(number));
  return "of " + std::to_string(elements) +
         " updated elements each of these mistakes would have shown in so many: " + join(parts, ", ");
}

}  // namespace

Judged check_audit(const CellEvidence& evidence) {
  const bool values =
      evidence.reference.manifest.level == RecordLevel::dump && evidence.candidate.manifest.level == RecordLevel::dump;
  Judgement judgement("audit", "audit",
                      values ? "coefficients, rates, sums and counts exactly; updates within what rounding leaves open"
                             : "coefficients, rates and sums exactly; norms at 1e-10, first moments within rounding");
  RecordAudits audits(judgement);
  const auditing::Audit theirs = audits.record(evidence.reference, values, "the reference: ");
  const auditing::Audit mine = audits.record(evidence.candidate, values, "");
  const Counts floors = {{"recomputed_numbers", 2 * evidence.steps()}};
  if (!theirs.from_values || !mine.from_values) {
    return judgement.conclude("what follows from the tables of both records alone does follow", floors);
  }
  const auto blind = auditing::what_it_cannot_see(mine);
  if (!blind.empty()) {
    return judgement.conclude_as(Outcome::not_triggered,
                                 "nothing was found, but not all could have been: " + join(blind, "; "));
  }
  return judgement.conclude("every step of both records follows from its values; " + power_words(mine), floors);
}

}  // namespace plumbline::judging
