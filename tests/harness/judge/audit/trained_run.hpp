// SPDX-License-Identifier: BSD-3-Clause
// A synthetic run whose values do follow from each other: gradients are drawn, and everything after them is computed as
// docs/exactness.md says, in the trainer's own precision, or with one mistake. Digests and counts are always those of
// the values, so that an audit alone can see the mistake; reference and candidate make it alike.
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
  last_rate_applied,  ///< recorded rightly
  clip_not_applied,
  clip_with_epsilon,  ///< 1e-6 added to the norm, as torch.nn.utils.clip_grad_norm_ has it
  applied_twice,
  no_update,
  moments_exchanged,
  no_weight_decay,
  decay_of_norms,       ///< where it is asked for of matrices alone
  decay_into_gradient,  ///< Adam with L2 in place of AdamW
  no_bias_correction,
  eps_inside_the_root,
  norm_counts_tied_twice,
  tied_use_dropped,
  step_loss_backwards,  ///< summed from right to left
  copies_truncated,     ///< of mixed precision, in place of rounded
  untrained_moves,      ///< the last element of each parameter that has no gradient, in the last step
  idle_moments_move,    ///< of a parameter in a step that has no gradient of it, the last element of each
  count_one_more,       ///< a parameter's updates, where it had no gradient in a step
};

struct TrainedRun {
  SyntheticRun run;
  std::string dtype = "float32";
  Mistake mistake = Mistake::none;
  double peak_rate = 0.01;
  double final_factor = 0;
  bool decays_matrices_alone = false;
  bool other_rounding = false;           ///< every fourth gradient is one unit in the last place larger
  std::optional<double> clip_norm = {};  ///< another limit than the mean of the two steps' norms
  bool mixed = false;                    ///< of dtype float32: each parameter has a bfloat16 copy, which travels too
  std::set<std::string> untrained = {};  ///< parameters without gradient and moments
  std::optional<std::int64_t> idle_step = {};  ///< in which model.norm.weight has no gradient: it begins with the next
  bool counts_idle_steps = false;              ///< the optimiser does, in the correction of AdamW's moments

  /// Fills in tables and manifest (level dump, a limit that bites in step 0 and not in step 1), and writes both and the
  /// dumps; returns `folder`.
  std::filesystem::path write(const std::filesystem::path& folder);
};

/// The synthetic cell's plan with an optimiser and a model of choice: level dump.
SyntheticPlan trained_plan(const std::string& optimizer, bool tied);

}  // namespace plumbline::testing
