// SPDX-License-Identifier: BSD-3-Clause
// Clipping by the global gradient norm.
#pragma once

#include <optional>

#include "training/train_state.hpp"

namespace plumbline {

/// min(1, limit / norm) without an epsilon; 1 without a limit; NaN for a NaN norm.
double clip_coefficient(double norm, std::optional<double> limit);
/// Gradient times coefficient in fp64, rounded once to the gradient's dtype; does nothing for coefficient 1. Allocates
/// no tensor on a CPU.
void scale_gradients(const TrainState& state, double coefficient);
/// The same for one contiguous gradient on any device, by LibTorch's kernels, with temporaries of less than 16 MiB.
void scale_in_pieces(const at::Tensor& gradient, double coefficient);

}  // namespace plumbline
