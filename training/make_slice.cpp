// SPDX-License-Identifier: BSD-3-Clause
#include "training/make_slice.hpp"

#include "model/initialize.hpp"
#include "model/load_weights.hpp"
#include "training/memory_meter.hpp"
#include "training/precision.hpp"

namespace plumbline {

LlamaSlice make_slice(const TrainingRun& training, UnitRange units, std::optional<at::ScalarType> tables_in) {
  LlamaSlice slice = [&] {
    const MemoryScope scope(MemoryOwner::parameters);
    LlamaSlice made(training.config, units, computed_type(training.run.train), training.device);
    if (is_mixed(training.run.train)) made.keep_masters();
    return made;
  }();
  {
    const MemoryScope scope(MemoryOwner::gradients);
    slice.allocate_gradients();
  }
  const MemoryScope scope(MemoryOwner::tables);
  slice.prepare_tables(training.plan.longest_sequence(), tables_in);
  return slice;
}

void set_initial_values(LlamaSlice& slice, const RunFile& run) {
  if (run.weights) {
    load_weights(slice, *run.weights);
  } else {
    initialize(slice, run.train.seed);
  }
}

}  // namespace plumbline
