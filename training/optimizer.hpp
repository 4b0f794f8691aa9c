// SPDX-License-Identifier: BSD-3-Clause
// From summed gradients to updated parameters: learning rate, clipping, AdamW and SGD.
#pragma once

#include <cstdint>
#include <optional>

#include "training/run_file.hpp"
#include "training/train_state.hpp"

namespace plumbline {

/// Rate of step t, counted from 0, in fp64 (exactness.md, 7): lr (f + (1-f) t/w) for t < w, else lr (g + (1-g) c) with
/// c = (1 + cos(pi p)) / 2 (cosine), 1 - p (linear), p = (t-w)/(T-w); lr (constant); for wsd lr until T-d, then
/// lr (g + (1-g) (T-t)/d). f = start_factor, g = final_factor, T = steps, d = decay_steps.
double learning_rate(const TrainSettings& train, std::int64_t step);

/// min(1, limit / norm) without an epsilon; 1 without a limit; NaN for a NaN norm.
double clip_coefficient(double norm, std::optional<double> limit);
/// Gradient times coefficient in fp64, rounded once to the gradient's dtype; does nothing for coefficient 1. Allocates
/// no tensor on a CPU.
void scale_gradients(const TrainState& state, double coefficient);
/// The same for one contiguous gradient on any device, by LibTorch's kernels, with temporaries of less than 16 MiB.
void scale_in_pieces(const at::Tensor& gradient, double coefficient);

/// Updates all parameters, and the copies of those that have any, with the current gradients; a rank without parameters
/// still counts steps. Temporaries belong to MemoryOwner::other.
void optimizer_step(const OptimizerSettings& settings, TrainState& state, double learning_rate);

}  // namespace plumbline
