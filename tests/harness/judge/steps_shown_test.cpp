// SPDX-License-Identifier: BSD-3-Clause
// A check that did not see every step does not hold, whatever the others show: its minimum counts are those of the
// whole run.
#include <gmock/gmock.h>

#include <set>

#include "harness/judge/check_table.hpp"
#include "harness/judge/evidence/cell_evidence.hpp"
#include "tests/harness/judge/synthetic_run.hpp"

namespace plumbline::testing {
namespace {

using namespace judging;

class StepsShown : public ::testing::TestWithParam<std::string> {
 protected:
  /// What the check concludes once it was shown the start and so many steps.
  CheckResult conclude_after(std::int64_t steps) {
    SyntheticCell cell(with_empty_stage());
    cell.write_reference();
    cell.write_candidate();
    RecordReading reference(cell.folder / "reference"), candidate(cell.folder / "candidate");
    reference.go_to(-1);
    candidate.go_to(-1);
    const CellEvidence evidence(cell.plan, *reference.record(), *candidate.record(), nullptr);
    const auto check = check_of(GetParam()).make(evidence);
    RecordIndex before;
    for (std::int64_t step = -1; step < steps; ++step) {
      if (step >= 0) {
        reference.go_to(step);
        candidate.go_to(step);
      }
      StepEvidence now(evidence, step, reference.before(), candidate.before(), std::move(before));
      check->step(now);
      before = std::move(now.reference_rows);
    }
    return check->conclude().result;
  }
};

TEST_P(StepsShown, AreAllDemanded) {
  const CheckResult whole = conclude_after(synthetic_steps), part = conclude_after(synthetic_steps - 1);

  EXPECT_EQ(to_text(whole.outcome), "holds") << whole.reason;
  EXPECT_EQ(to_text(part.outcome), "fails") << part.reason;
}

/// All but those that count something else than steps, or do not apply to this run.
std::vector<std::string> all_of_steps() {
  const std::set<std::string> others = {"census", "gradient_norm", "evaluation",    "audit",   "variable_lengths",
                                        "resume", "replicas",      "repeatability", "applied", "buffers"};
  std::vector<std::string> names;
  for (const CheckDescriptor& check : all_checks())
    if (check.make && !others.contains(check.name)) names.push_back(check.name);
  return names;
}

INSTANTIATE_TEST_SUITE_P(EachCheck, StepsShown, ::testing::ValuesIn(all_of_steps()),
                         [](const auto& tested) { return tested.param; });

}  // namespace
}  // namespace plumbline::testing
