// SPDX-License-Identifier: BSD-3-Clause
#include "training/model_slice.hpp"

#include <utility>

#include "model/initialize.hpp"
#include "model/load_weights.hpp"
#include "model/unit.hpp"
#include "training/graph_edges.hpp"
#include "training/loss.hpp"
#include "training/memory_meter.hpp"
#include "training/run.hpp"

namespace plumbline {

LlamaSlice make_slice(const Run& run, UnitRange units, std::optional<at::ScalarType> tables_in) {
  LlamaSlice slice = [&] {
    const MemoryScope scope(MemoryOwner::parameters);
    LlamaSlice made(run.config, units, computed_type(run.train), run.device);
    if (is_mixed(run.train)) made.keep_masters();
    return made;
  }();
  {
    const MemoryScope scope(MemoryOwner::gradients);
    slice.allocate_gradients();
  }
  const MemoryScope scope(MemoryOwner::tables);
  slice.prepare_tables(run.batches.longest_sequence(), tables_in);
  return slice;
}

void set_initial_values(LlamaSlice& slice, const RunFile& run) {
  if (run.weights) {
    load_weights(slice, *run.weights);
  } else {
    initialize(slice, run.train.seed);
  }
}

at::Tensor forward_unit(const LlamaSlice& slice, std::int64_t number, const at::Tensor& input, const LossTarget& target,
                        Recompute recompute) {
  const auto run = [&](Unit unit, const at::Tensor& x) {
    return recomputes(recompute, unit.kind) ? forward_to_recompute(slice, unit, x) : slice.forward(unit, x);
  };
  const Unit unit = unit_at(slice.config(), number);
  if (unit.kind == UnitKind::layer && (recompute == Recompute::attention || recompute == Recompute::mlp)) {
    return run({UnitKind::mlp, unit.layer}, run({UnitKind::attention, unit.layer}, input));
  }
  at::Tensor output = run(unit, input);
  if (unit.kind == UnitKind::head) output = token_weighted_loss(output, target.labels, target.valid_tokens_of_step);
  return output;
}

at::Tensor forward_units(const LlamaSlice& slice, at::Tensor input, const LossTarget& target, Recompute recompute) {
  at::Tensor x = std::move(input);
  for (std::int64_t unit = slice.units().first; unit < slice.units().end; ++unit) {
    x = forward_unit(slice, unit, x, target, recompute);
  }
  return x;
}

}  // namespace plumbline
