// SPDX-License-Identifier: BSD-3-Clause
// The part of the run's model that a rank computes: its creation, initial values and forward pass. Shared by both
// trainers, so that their tensors have the same lifetimes.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <optional>

#include "model/llama_slice.hpp"
#include "model/recompute.hpp"
#include "model/unit.hpp"
#include "training/run.hpp"

namespace plumbline {

/// Parameters (uninitialized), zeroed gradients and tables, each under its memory owner. `tables_in`: the dtype in
/// which RoPE tables are computed, if not the slice's own.
LlamaSlice make_slice(const Run& run, UnitRange units, std::optional<at::ScalarType> tables_in = std::nullopt);

/// Sets the slice's parameters from `model.weights` of the run file, else by `train.seed`. Throws InputError for
/// weights of another model.
void set_initial_values(LlamaSlice& slice, const RunFile& run);

/// The labels for the loss.
struct LossTarget {
  at::Tensor labels;  ///< int64 [batch, sequence]
  std::int64_t valid_tokens_of_step = 0;
};

/// One unit's output; for lm_head the scaled loss (only there `target` is used). `recompute`: what a layer or its
/// halves save.
at::Tensor forward_unit(const LlamaSlice& slice, std::int64_t unit, const at::Tensor& input, const LossTarget& target,
                        Recompute recompute);

/// Runs the slice's units in order. `input`: ids, or an activation [batch, sequence, hidden], moved in so that it lives
/// only as long as the graph needs it. Returns the last unit's output.
at::Tensor forward_units(const LlamaSlice& slice, at::Tensor input, const LossTarget& target, Recompute recompute);

}  // namespace plumbline
