// gradients (R3): the gradient of every parameter, accumulated over the step, before clipping.
#include "harness/judge/checks/checks.hpp"
#include "harness/judge/checks/tensor_comparison.hpp"

namespace plumbline::judging {

Judged check_gradients(const CellEvidence& evidence) {
  Judgement judgement("gradients", "R3", value_limit(evidence));
  for (std::int64_t step = 0; step < evidence.steps(); ++step) {
    compare_tensors(evidence, step, "gradient", judgement);
    compare_tied_copies(evidence, step, "gradient", judgement);
  }
  if (evidence.steps() < 2) judgement.not_shown("a gradient that is kept from the step before: the run has one step");
  const auto parameters =
      static_cast<std::int64_t>(evidence.model.parameters.size() - evidence.candidate.manifest.frozen.size());
  return judgement.conclude("the gradients of " + std::to_string(parameters) + " parameters in " +
                                std::to_string(evidence.steps()) + " steps are " + agreement(evidence),
                            {{"tensors", parameters * evidence.steps()}}, {"nonzero_elements"});
}

}  // namespace plumbline::judging
