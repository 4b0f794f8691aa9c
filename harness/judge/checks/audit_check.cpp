// SPDX-License-Identifier: BSD-3-Clause
// audit: the predicates, on both records.
#include <set>

#include "harness/judge/checks/checks.hpp"
#include "harness/judge/predicates/predicates.hpp"

namespace plumbline::judging {
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
