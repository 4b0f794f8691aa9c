// SPDX-License-Identifier: BSD-3-Clause
// Creates a slice of the run's model, and its initial values: given weights, or drawn by seed.
#pragma once

#include <optional>

#include "model/llama_slice.hpp"
#include "model/unit.hpp"
#include "training/training_run.hpp"

namespace plumbline {

/// Parameters (uninitialized), zeroed gradients and tables, each under its memory owner. `tables_in`: the dtype in
/// which RoPE tables are computed, if not the slice's own.
LlamaSlice make_slice(const TrainingRun& training, UnitRange units,
                      std::optional<at::ScalarType> tables_in = std::nullopt);

/// Sets the slice's parameters from `model.weights` of the run file, else by `train.seed`. Throws InputError for
/// weights of another model.
void set_initial_values(LlamaSlice& slice, const RunFile& run);

}  // namespace plumbline
