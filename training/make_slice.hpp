// A slice of the run's model, ready to be trained.
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

}  // namespace plumbline
