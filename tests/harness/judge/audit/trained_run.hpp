// SPDX-License-Identifier: BSD-3-Clause
// A synthetic run with consistent values: gradients are random, and everything else is computed from them as in
// docs/exactness.md, in the trainer's precision, optionally with one mistake. Digests and counts always match the
// values, so that only recomputation detects the mistake; reference and candidate share it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "tests/harness/judge/synthetic_run.hpp"

namespace plumbline::testing {

enum class Mistake {
  none,
  rate_a_step_early,  ///< recorded and applied
  last_rate_applied,  ///< recorded correctly
  clip_not_applied,
  clip_with_epsilon,  ///< 1e-6 is added to the norm, as in torch.nn.utils.clip_grad_norm_
  applied_twice,
  no_update,
  moments_exchanged,
  no_weight_decay,
  decay_of_norms,       ///< although it is requested only for matrices
  decay_into_gradient,  ///< Adam with L2 instead of AdamW
  no_bias_correction,
  eps_inside_the_root,
  norm_counts_tied_twice,
  tied_use_dropped,
  step_loss_backwards,  ///< summed from right to left
  copies_truncated,     ///< in mixed precision, instead of rounded
  untrained_moves,      ///< the last element of each parameter without a gradient, in the last step
  idle_moments_move,    ///< the last element of each moment, in a step without a gradient
  count_one_more,       ///< a parameter's number of updates, after a step without a gradient
};

struct TrainedRun {
  SyntheticRun run;
  std::string dtype = "float32";
  Mistake mistake = Mistake::none;
  double peak_rate = 0.01;
  double final_factor = 0;
  bool decays_matrices_alone = false;
  bool other_rounding = false;           ///< every fourth gradient is one ULP larger
  std::optional<double> clip_norm = {};  ///< default: the mean of the two steps' norms
  bool mixed = false;                    ///< dtype float32: each parameter has a bfloat16 copy, which is also sent
  std::set<std::string> untrained = {};  ///< parameters without gradient and moments
  std::optional<std::int64_t> idle_step =
      {};                          ///< a step without a gradient of model.norm.weight, which begins with the next
  bool counts_idle_steps = false;  ///< the optimiser counts them, in the bias correction of AdamW
  std::optional<std::int64_t> skipped_step = {};  ///< without STEP: nothing is updated

  /// Completes tables and manifest (level dump, a limit that acts in step 0 and not in step 1), and writes them with
  /// the dumps; returns `folder`.
  std::filesystem::path write(const std::filesystem::path& folder);
};

/// The synthetic case's plan with a given optimiser and model, at level dump.
SyntheticPlan trained_plan(const std::string& optimizer, bool tied);

}  // namespace plumbline::testing
