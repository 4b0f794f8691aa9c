// SPDX-License-Identifier: BSD-3-Clause
// The named check must find every canary, at the place of the injected fault; equivalent changes must pass.
#include "tests/mutant/canary.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

namespace plumbline {
namespace {

// untied-128 has 4 layers; on 3 ranks the stages are embed + 0,1 | 2 | 3 + norm + head, so its cuts are layers.2 and
// layers.3
INSTANTIATE_TEST_SUITE_P(Model, Canaries,
                         ::testing::Values(Canary{.name = "P1_layer_dropped",
                                                  .fault = "P1@rank=1",
                                                  .check = "census",
                                                  .step = -1,
                                                  .item = "layers.2",
                                                  .still_hold = {"completion", "data"}},
                                           Canary{.name = "NaN_in_an_activation",
                                                  .fault = "NaN@rank=1,microbatch=4",
                                                  .check = "boundaries",
                                                  .step = 0,
                                                  .microbatch = 4,
                                                  .direction = "forward",
                                                  .item = "layers.3"},
                                           Canary{.name = "Not_finite_in_both_records",
                                                  .run = "canary-overflow",
                                                  .check = "parameters",
                                                  .step = 0,
                                                  .item = "embed_tokens"}),
                         canary_name);

INSTANTIATE_TEST_SUITE_P(Wire, Canaries,
                         ::testing::Values(Canary{.name = "C1_shapes_crossed",
                                                  .fault = "C1@rank=0",
                                                  .world = 2,
                                                  .check = "completion",
                                                  .output = "rank 0 expected B microbatch 0 of step 0, stage 1 -> 0, "
                                                            "2x5x128 float32 (message 0 of this edge), rank 1 sent B "
                                                            "microbatch 0 of step 0, stage 1 -> 0, 2x12x128 float32"},
                                           Canary{.name = "C8_gradient_dropped",
                                                  .fault = "C8@rank=1,microbatch=4",
                                                  .check = "boundaries",
                                                  .step = 0,
                                                  .microbatch = 4,
                                                  .direction = "backward",
                                                  .item = "layers.2",
                                                  .still_hold = {"completion", "census", "data"}},
                                           Canary{.name = "C9_narrowed",
                                                  .fault = "C9@rank=1,microbatch=5",
                                                  .check = "boundaries",
                                                  .step = 0,
                                                  .microbatch = 5,
                                                  .direction = "forward",
                                                  .item = "layers.3"},
                                           Canary{.name = "C10_truncated",
                                                  .fault = "C10@rank=0,microbatch=1",
                                                  .check = "completion",
                                                  .output = "rank 1 expected F microbatch 1 of step 0, stage 0 -> 1, "
                                                            "2x5x128 float32 (message 1 of this edge), rank 0 sent F "
                                                            "microbatch 1 of step 0, stage 0 -> 1, 2x4x128 float32"},
                                           Canary{.name = "C10_truncated_unseen",
                                                  .fault = "C10z@rank=0,microbatch=1",
                                                  .check = "boundaries",
                                                  .step = 0,
                                                  .microbatch = 1,
                                                  .direction = "forward",
                                                  .item = "layers.2"},
                                           Canary{.name = "C11_swapped",
                                                  .fault = "C11@rank=0,microbatch=4",
                                                  .schedule = "afab",
                                                  .check = "completion",
                                                  .output = "rank 1 expected F microbatch 4 of step 0, stage 0 -> 1, "
                                                            "2x16x128 float32 (message 4 of this edge), rank 0 sent F "
                                                            "microbatch 5 of step 0"},
                                           Canary{.name = "C11_swapped_unseen",
                                                  .fault = "C11h@rank=0,microbatch=4",
                                                  .schedule = "afab",
                                                  .check = "boundaries",
                                                  .step = 0,
                                                  .microbatch = 4,
                                                  .direction = "forward",
                                                  .item = "layers.2"}),
                         canary_name);

INSTANTIATE_TEST_SUITE_P(Training, Canaries,
                         ::testing::Values(Canary{.name = "G1_not_scaled",
                                                  .fault = "G1@rank=2",
                                                  .check = "boundaries",
                                                  .step = 0,
                                                  .microbatch = 0,
                                                  .direction = "backward",
                                                  .item = "layers.3",
                                                  .still_hold = {"completion", "data", "census"}},
                                           Canary{.name = "G6_not_zeroed",
                                                  .fault = "G6@step=1",
                                                  .check = "gradients",
                                                  .step = 1,
                                                  .still_hold = {"completion", "boundaries", "loss"}},
                                           Canary{.name = "T1_tied_not_reduced",
                                                  .fault = "T1",
                                                  .run = "canary-tied",
                                                  .check = "gradients",
                                                  .step = 0,
                                                  .item = "embed_tokens",
                                                  .still_hold = {"completion", "census"}},
                                           Canary{.name = "T3_head_frozen",
                                                  .fault = "T3@rank=2",
                                                  .check = "parameters",
                                                  .step = 0,
                                                  .item = "lm_head",
                                                  .still_hold = {"completion", "census"}},
                                           // If the parameter's copies differ, the trainer itself ends (T2).
                                           Canary{.name = "U6_moment_of_a_tied_copy",
                                                  .fault = "U6@rank=2,step=1",
                                                  .run = "canary-tied",
                                                  .check = "tied_weights",
                                                  .step = 1,
                                                  .item = "lm_head",
                                                  .still_hold = {"completion", "data", "gradients", "gradient_norm"},
                                                  .rank = 2}),
                         canary_name);

INSTANTIATE_TEST_SUITE_P(
    Schedule, Canaries,
    ::testing::Values(Canary{.name = "H5_two_actions_swapped",
                             .fault = "H5@rank=0",
                             .check = "conformance",
                             .step = 0,
                             .still_hold = {"completion", "boundaries", "gradients", "parameters"}},
                      Canary{.name = "H5_another_schedule",
                             .fault = "H5s",
                             .check = "conformance",
                             .step = 0,
                             .still_hold = {"completion", "boundaries", "gradients", "parameters"}}),
    canary_name);

INSTANTIATE_TEST_SUITE_P(
    Memory, Canaries,
    ::testing::Values(Canary{.name = "H1_activations_kept",
                             .fault = "H1@rank=1",
                             .check = "memory",
                             .step = 0,
                             .still_hold = {"completion", "boundaries", "gradients", "parameters"}},
                      Canary{.name = "H1_one_tensor_kept",
                             .fault = "H1@rank=1,microbatch=3",
                             .check = "memory",
                             .step = 0,
                             .still_hold = {"completion", "boundaries", "gradients", "parameters"}},
                      Canary{.name = "P4_whole_model",
                             .fault = "P4@rank=1",
                             .check = "memory",
                             .step = 0,
                             .item = "parameter_bytes",
                             .still_hold = {"completion", "boundaries", "gradients", "parameters"}}),
    canary_name);

/// 64 MiB more of one owner, from the middle of a step on.
Canary extra_tensor(const std::string& fault, const std::string& item, int step = 1) {
  std::string name = fault;
  std::ranges::replace(name, '-', '_');
  const std::string place = fmt::format("@rank=1,step={}", step);
  return {.name = name, .fault = fault + place, .check = "memory", .step = 1, .item = item};
}

INSTANTIATE_TEST_SUITE_P(KeptFromWithinAStep, Canaries,
                         ::testing::Values(extra_tensor("K-parameters", "parameter_bytes"),
                                           extra_tensor("K-gradients", "gradient_bytes"),
                                           extra_tensor("K-optimizer", "optimizer_bytes"),
                                           extra_tensor("K-activations", "activation_peak_bytes", 0)),
                         canary_name);

// The smallest possible difference in bfloat16, at each level. In the last microbatch, 7, so that no later gradient can
// round it away; on 3 ranks, stage 1 is only layers.2.
INSTANTIATE_TEST_SUITE_P(
    Bfloat16, Canaries,
    ::testing::Values(Canary{.name = "U2_activation_one_ulp",
                             .fault = "U2@rank=1,microbatch=5",
                             .run = "canary-untied-bf16",
                             .check = "boundaries",
                             .step = 0,
                             .microbatch = 5,
                             .direction = "forward",
                             .item = "layers.3",
                             .still_hold = {"completion", "data", "census", "memory"}},
                      Canary{.name = "U2b_boundary_gradient_one_ulp",
                             .fault = "U2b@rank=1,microbatch=5",
                             .run = "canary-untied-bf16",
                             .check = "boundaries",
                             .step = 0,
                             .microbatch = 5,
                             .direction = "backward",
                             .item = "layers.2",
                             .still_hold = {"completion", "data", "census", "memory"}},
                      Canary{.name = "U3_gradient_one_ulp",
                             .fault = "U3@rank=1,microbatch=7,step=1",
                             .run = "canary-untied-bf16",
                             .check = "gradients",
                             .step = 1,
                             .item = "layers.2.self_attn.q_proj",
                             .still_hold = {"completion", "data", "loss", "boundaries", "memory"}},
                      Canary{.name = "U5_parameter_one_ulp",
                             .fault = "U5@rank=1,step=1",
                             .run = "canary-untied-bf16",
                             .check = "parameters",
                             .step = 1,
                             .item = "layers.2.self_attn.q_proj",
                             .still_hold = {"completion", "data", "loss", "boundaries", "gradients", "gradient_norm",
                                            "memory"}},
                      Canary{.name = "N1_bfloat16", .run = "canary-untied-bf16"},
                      Canary{.name = "N1_bfloat16_split", .run = "canary-untied-bf16", .schedule = "zb-h1"}),
    canary_name);

INSTANTIATE_TEST_SUITE_P(
    Recompute, Canaries,
    ::testing::Values(Canary{.name = "A1_not_recomputed",
                             .fault = "A1@rank=1",
                             .run = "canary-recompute",
                             .check = "memory",
                             .step = 0,
                             .item = "activation_peak_bytes",
                             .still_hold = {"completion", "boundaries", "gradients", "parameters"}},
                      Canary{.name = "A2_recomputed_from_another_input",
                             .fault = "A2@rank=2",
                             .run = "canary-recompute",
                             .check = "gradients",
                             .step = 0,
                             .item = "layers.3",
                             .still_hold = {"completion", "data", "census", "memory"}},
                      Canary{.name = "N1_recompute", .run = "canary-recompute"},
                      Canary{.name = "N1_recompute_split", .run = "canary-recompute", .schedule = "zb-h1"}),
    canary_name);

INSTANTIATE_TEST_SUITE_P(Mixed, Canaries,
                         ::testing::Values(Canary{.name = "X1_gradients_summed_in_bfloat16",
                                                  .fault = "X1@rank=1",
                                                  .run = "canary-mixed",
                                                  .check = "gradients",
                                                  .step = 0,
                                                  .item = "layers.2",
                                                  .still_hold = {"completion", "data", "census"}},
                                           Canary{.name = "X2_copies_not_made_anew",
                                                  .fault = "X2@rank=1,step=0",
                                                  .run = "canary-mixed",
                                                  .check = "parameters",
                                                  .step = 0,
                                                  .item = "layers.2",
                                                  .still_hold = {"completion", "data", "census", "memory"}},
                                           Canary{.name = "X3_masters_rounded",
                                                  .fault = "X3@rank=1,step=0",
                                                  .run = "canary-mixed",
                                                  .check = "parameters",
                                                  .step = 0,
                                                  .item = "layers.2",
                                                  .still_hold = {"completion", "data", "census", "memory"}},
                                           Canary{.name = "N1_mixed", .run = "canary-mixed"},
                                           Canary{.name = "N1_mixed_split", .run = "canary-mixed", .schedule = "zb-h1"},
                                           Canary{
                                               .name = "N4_mixed_gone_on_with", .run = "canary-mixed", .resume_at = 1}),
                         canary_name);

/// Resumes after the first step on three ranks; the first run stopped on two.
Canary resumed(const std::string& fault, const std::string& check, std::int64_t step, const std::string& item,
               std::vector<std::string> still_hold, const std::string& run = "canary-untied") {
  std::string name = fault;
  std::ranges::replace(name, '-', '_');
  return {.name = name,
          .fault = fault,
          .run = run,
          .check = check,
          .step = step,
          .item = item,
          .still_hold = std::move(still_hold),
          .resume_at = 1};
}

INSTANTIATE_TEST_SUITE_P(
    Resume, Canaries,
    ::testing::Values(
        resumed("R-steps", "parameters", 1, "embed_tokens", {"completion", "data", "gradients", "resume"},
                "canary-resumed"),
        resumed("R-moments", "resume", -1, "embed_tokens", {"completion", "data", "gradients"}, "canary-resumed"),
        resumed("R-data", "resume", 1, "data", {"completion", "census"}),
        resumed("R-rate", "resume", 1, "learning_rate", {"completion", "data", "gradients"}),
        // The trainer itself refuses to continue if its copies differ.
        Canary{.name = "R_tied",
               .fault = "R-tied",
               .run = "canary-tied",
               .check = "completion",
               .output =
                   "rank 0 ended the run: step 1: the copies of the tied weight on the first and the last stage differ",
               .resume_at = 1},
        resumed("R-layers", "resume", -1, "layers.2.self_attn.q_proj", {"completion", "data", "census"}),
        Canary{.name = "N4_gone_on_with", .run = "canary-resumed", .resume_at = 1},
        Canary{.name = "N4_bfloat16_split", .run = "canary-untied-bf16", .schedule = "zb-h1", .resume_at = 1}),
    canary_name);

/// Evaluates after each of two steps.
Canary evaluated(Canary canary) {
  canary.run = "canary-evaluated";
  return canary;
}

INSTANTIATE_TEST_SUITE_P(
    Evaluation, Canaries,
    ::testing::Values(evaluated({.name = "E_gradients_left_behind",
                                 .fault = "E-gradients@rank=1",
                                 .check = "gradients",
                                 .step = 1,
                                 .item = "layers.2",
                                 .still_hold = {"completion", "data", "boundaries"}}),
                      evaluated({.name = "E_data_moved",
                                 .fault = "E-data",
                                 .check = "data",
                                 .step = 1,
                                 .microbatch = 0,
                                 .still_hold = {"completion", "census"}}),
                      evaluated({.name = "E_another_microbatchs_loss",
                                 .fault = "E-loss",
                                 .check = "evaluation",
                                 .step = 0,
                                 .microbatch = 0,
                                 .item = "evaluation.csv loss",
                                 .still_hold = {"completion", "data", "loss", "parameters"}}),
                      evaluated({.name = "N1_evaluated"}),
                      evaluated({.name = "N1_evaluated_interleaved", .world = 2, .schedule = "interleaved-1f1b"}),
                      evaluated({.name = "N4_evaluated_gone_on_with", .resume_at = 1})),
    canary_name);

/// Two replicas of two ranks; the fault is in the second step.
Canary replicated(const std::string& name, const std::string& fault, const std::string& check,
                  std::vector<std::string> still_hold, const std::string& schedule = "1f1b") {
  return {.name = name,
          .fault = fault,
          .run = "canary-replicas",
          .world = 4,
          .schedule = schedule,
          .check = check,
          .step = fault == "D6" ? 0 : 1,
          .item = fault == "D6" ? "data" : "lm_head",
          .still_hold = std::move(still_hold)};
}

INSTANTIATE_TEST_SUITE_P(
    Replicas, Canaries,
    ::testing::Values(replicated("D1_left_out", "D1@rank=1,step=1", "gradients", {"completion", "data", "loss"}),
                      replicated("D2_summed_twice", "D2@rank=1,step=1", "gradients", {"completion", "data", "loss"}),
                      replicated("D3_mean", "D3@step=1", "gradients", {"completion", "data", "loss", "boundaries"}),
                      replicated("D4_before_the_last_weights", "D4@rank=1,step=1", "replicas",
                                 {"completion", "data", "loss"}, "zb-h1"),
                      replicated("D5_keeps_its_own", "D5@rank=1,step=1", "replicas", {"completion", "data", "loss"}),
                      replicated("D6_same_rows", "D6", "replicas", {"completion", "census"}),
                      replicated("D6_same_rows_as_one_device_has_not", "D6", "data", {"completion", "census"}),
                      Canary{.name = "N1_replicas", .run = "canary-replicas", .world = 4, .schedule = "zb-h1"}),
    canary_name);

INSTANTIATE_TEST_SUITE_P(
    Harmless, Canaries,
    ::testing::Values(Canary{.name = "N1_again"},  //
                      Canary{.name = "N2_afab", .schedule = "afab"},
                      Canary{.name = "N2_tied_more_ranks_than_layers", .run = "canary-tied", .world = 8},
                      Canary{.name = "N3_slow_links", .fault = "N3"}),
    canary_name);

}  // namespace
}  // namespace plumbline
