// SPDX-License-Identifier: BSD-3-Clause
// A slice of the run's model, and the values that it starts from: given weights, or those that its seed draws.
#pragma once

#include <optional>

#include "model/llama_slice.hpp"
#include "model/unit.hpp"
#include "training/training_run.hpp"

namespace plumbline {

/// Parameters (without values yet), zeroed gradients and tables, each under its memory owner. `tables_in`: the dtype of
/// the model whose constants it takes, where it is not its own.
LlamaSlice make_slice(const TrainingRun& training, UnitRange units,
                      std::optional<at::ScalarType> tables_in = std::nullopt);

/// Fills the slice's parameters from `model.weights` of the run file, else from `train.seed`. Throws InputError for
/// weights that are not the model's.
void set_initial_values(LlamaSlice& slice, const RunFile& run);

}  // namespace plumbline
