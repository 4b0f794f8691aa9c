// SPDX-License-Identifier: BSD-3-Clause
// replicas, for a record that is judged alone, without the other pipelines of its run. With all of them:
// replica_comparison.hpp.
#include <fmt/format.h>

#include "harness/judge/checks/checks.hpp"

namespace plumbline::judging {
namespace {

class OneReplica : public StepCheck {
 public:
  explicit OneReplica(const CellEvidence& evidence) : name_(evidence.candidate.manifest.mesh->name()) {}

  void step(const StepEvidence&) override {}

  LocatedResult conclude() override {
    CheckResultBuilder builder("replicas", "replicas", "");
    builder.not_shown("other pipelines of the mesh: this is " + name_);
    return builder.conclude_as(Outcome::not_run,
                               fmt::format("this is {}: the others were neither inspected nor compared with it; the "
                                           "folder that holds them all is judged whole without --replica",
                                           name_));
  }

 private:
  std::string name_;
};

std::optional<std::string> one_pipeline(const CellPlan&, const Manifest& candidate) {
  if (candidate.mesh && candidate.mesh->replicas.size() > 1) return std::nullopt;
  return "a single pipeline trained";
}

}  // namespace

CheckDescriptor replicas_check() {
  return {.name = "replicas",
          .place = 180,
          .claims =
              "pipelines that train in parallel have the same start, the same reduced gradients, and after each step "
              "the same parameters and moments, and each is fed its own data; of Plumbline's replicas the loss and the "
              "tokens of a step are the sums over all.",
          .needs_in_words =
              "level full, and the [records of all pipelines](record-format.md#one-pipeline-of-several) in one "
              "folder. It does not apply to a single pipeline; for one selected of several it is not run "
              "(informational). Every other check runs for each replica and names it.",
          .cannot_see = "a sum over replicas that is wrong in all alike (`gradients`, against a correct reference).",
          .level = RecordLevel::full,
          .external_may_lack = true,
          .needs = {"parameters", "moments"},
          .not_applicable = one_pipeline,
          .make = [](const CellEvidence& evidence) -> std::unique_ptr<StepCheck> {
            return std::make_unique<OneReplica>(evidence);
          }};
}

}  // namespace plumbline::judging
