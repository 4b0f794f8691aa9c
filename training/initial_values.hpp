// What a run starts from: given weights, or those that its seed draws.
#pragma once

#include "model/llama_slice.hpp"
#include "training/run_file.hpp"

namespace plumbline {

/// Fills the slice's parameters from `model.weights` of the run file, else from `train.seed`. Throws InputError for
/// weights that are not the model's.
void set_initial_values(LlamaSlice& slice, const RunFile& run);

}  // namespace plumbline
