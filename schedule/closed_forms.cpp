// SPDX-License-Identifier: BSD-3-Clause
#include "schedule/closed_forms.hpp"

#include <algorithm>

#include "schedule/simulator.hpp"

namespace plumbline {

std::optional<double> closed_form_bubble(const std::string& name, std::int32_t ranks, std::int32_t microbatches,
                                         const StageTimes& times) {
  const double below = ranks - 1;
  const double whole = times.forward + times.input + times.weight;  // s / v
  const bool enough = microbatches >= ranks;
  const bool equal = times.forward == times.input && times.input == times.weight;
  // Also requires T_W <= T_F: the first gradient arrives (p-1) T_B after the last warm-up forward, and only W actions
  // no longer than F fill that time.
  const bool short_weight = times.weight <= times.input && times.weight <= times.forward;
  if (name == "afab") return below * whole;
  if ((name == "1f1b" || name == "interleaved-1f1b" || name == "looped-bfs") && enough) return below * whole;
  if (name == "zb-h1" && enough && short_weight) return below * (times.forward + times.input - times.weight);
  if (name == "zb-h2" && microbatches >= 2 * ranks - 1 && short_weight) {
    return below * std::max(0.0, times.forward + times.input - 2 * times.weight);
  }
  if (name == "zb-v" && microbatches >= 2 * ranks - 1 && equal) return 0.0;
  if (name == "dualpipe-v" && microbatches >= 2 * ranks && equal) return below * times.forward;
  return std::nullopt;
}

}  // namespace plumbline
