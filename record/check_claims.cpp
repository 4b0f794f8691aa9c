#include "record/check_claims.hpp"

#include <map>

namespace plumbline {

std::string claim_of_check(const std::string& name) {
  static const std::map<std::string, std::string> claims = {
      {"as_asked",
       "what ran is what was asked for: role, ranks, schedule, stages, model, seed, dtype, optimiser, rates, clipping, "
       "data, device, transport, level, in manifest and tables; ids and labels are made again from the token source."},
      {"completion", "both runs ended well, on every rank, with every step written."},
      {"data",
       "both runs were fed the same microbatches in the same order, and their manifests say the same training, in "
       "every key of the model."},
      {"census",
       "the stages are a disjoint cover of the model, every parameter is held once, where its unit stands, with shape "
       "and dtype."},
      {"loss",
       "the loss of every microbatch and of every step has the same bits; the step's is their sum from left to right; "
       "as "
       "a cross-entropy none is below 0, and that of a microbatch without a valid token is 0."},
      {"boundaries",
       "every activation and gradient that crosses a cut is, at both ends, the reference's own tensor there; the "
       "transport moved what the schedule says, to the byte."},
      {"gradients", "every parameter's gradient, summed over the step, before clipping, has the same bits."},
      {"nonzero_gradients",
       "every parameter has a finite gradient in every step that is not all zero, in both records; the rows of an "
       "untied embedding that are not zero are exactly those of ids that can have a gradient."},
      {"gradient_norm",
       "the global norm and the clip coefficient have the same bits on every rank; where clipping was asked for the "
       "limit acts in some steps and not in others."},
      {"parameters",
       "the start, and after each step every parameter and optimiser moment, have the same bits; copies of a tied "
       "weight are equal; the learning rates are."},
      {"evaluation",
       "after each step that has an evaluation, the loss of each of its microbatches and the whole one's have the same "
       "bits, on the same data, which are those of the first evaluation."},
      {"audit",
       "what both trainers share is right: norm, clip coefficient, optimiser step and counts are recomputed from the "
       "record by formulas of the judge's own; at level dump element by element. Without dumps, what is not moved by a "
       "step that must move it is found."},
      {"empty_partitions",
       "a stage without layers holds what its units need and nothing else, and one without units hands on what it "
       "got."},
      {"variable_lengths", "what crosses a cut has the shape of its own microbatch."},
      {"memory",
       "bytes of parameters, gradients and optimiser state follow from shapes; activations are at the memory law's "
       "byte in every action; nothing is kept from step to step; no rank holds bytes that nobody owns."},
      {"conformance",
       "each rank executed, in order, the list that its schedule lowers to, and the schedule is the one named; a "
       "pipeline sums gradients in the order of that list; events are in causal order across ranks."},
      {"resume",
       "what a run that was gone on with began from is, in every parameter and optimiser moment, what the reference "
       "had "
       "after the step before, and its first step has that step's data and learning rate."},
      {"replicas",
       "of pipelines that train side by side each has the same start, the same reduced gradients, and after each step "
       "the same parameters and moments, and is fed data of its own."},
      {"repeatability", "the same run done again has the same bits, row by row."},
  };
  const auto found = claims.find(name);
  return found == claims.end() ? "" : found->second;
}

}  // namespace plumbline
