// SPDX-License-Identifier: BSD-3-Clause
#include "training/step_recorder.hpp"

#include <ATen/Tensor.h>

#include <algorithm>

#include "record/rank_folder.hpp"
#include "support/files.hpp"
#include "training/memory_meter.hpp"

namespace plumbline {

void StepRecorder::keep(std::string key, const at::Tensor& value) {
  if (!writer_.wants_dump()) return;
  // Always a copy, since the tensor itself will change.
  const at::Tensor copy = value.detach().to(at::kCPU, value.scalar_type(), /*non_blocking=*/false, /*copy=*/true);
  kept_.emplace_back(std::move(key), copy.contiguous());
}

void StepRecorder::tensor(std::int64_t step, std::int64_t stage, const std::string& kind, const std::string& name,
                          const at::Tensor& value) {
  TensorRow row = describe(value);
  row.step = step;
  row.kind = kind;
  row.name = name;
  row.stage = stage;
  writer_.add(std::move(row));
  keep(kind + "/" + name, value);
}

void StepRecorder::start(const TrainState& state) {
  parameters_and_moments(initial_step, state, /*with_moments=*/state.step > 0);
}

void StepRecorder::before_update(std::int64_t step, const TrainState& state) {
  if (!writer_.wants_tensors()) return;
  const MemoryScope scope(MemoryOwner::recorder);
  for (const TrainedParameter& each : state.parameters) {
    tensor(step, each.stage, "gradient", each.name, each.gradient());
  }
}

void StepRecorder::after_update(std::int64_t step, const TrainState& state, const StepUpdate& /*update*/) {
  parameters_and_moments(step, state, /*with_moments=*/true);
}

void StepRecorder::parameters_and_moments(std::int64_t step, const TrainState& state, bool with_moments) {
  if (!writer_.wants_tensors()) return;
  const MemoryScope scope(MemoryOwner::recorder);
  const auto of_stage = [](const TrainedParameter& one, const TrainedParameter& next) {
    return one.stage == next.stage;
  };
  const auto& all = state.parameters;
  for (auto first = all.begin(); first != all.end();) {
    const auto end = std::find_if_not(first, all.end(), [&](const auto& each) { return of_stage(*first, each); });
    std::for_each(first, end,
                  [&](const auto& each) { tensor(step, each.stage, "parameter", each.name, each.trained()); });
    for (auto each = first; each != end; ++each) {
      if (each->master.defined()) tensor(step, each->stage, "copy", each->name, each->value);
    }
    for (auto each = first; with_moments && each != end; ++each) {
      // an alias has the moments of the weight that owns its storage, which is the first of the slice
      const TrainedParameter& owner = each->alias ? *first : *each;
      if (owner.moment1.defined()) tensor(step, each->stage, "moment1", each->name, owner.moment1);
      if (owner.moment2.defined()) tensor(step, each->stage, "moment2", each->name, owner.moment2);
    }
    first = end;
  }
}

void StepRecorder::on_boundary(const BoundaryTensor& boundary, const at::Tensor& value) {
  if (!writer_.wants_tensors()) return;
  const MemoryScope scope(MemoryOwner::recorder);
  BoundaryRow row;
  row.step = boundary.step;
  row.microbatch = boundary.microbatch;
  row.direction = boundary.direction;
  row.cut = boundary.boundary;
  row.from_stage = boundary.from_stage;
  row.to_stage = boundary.to_stage;
  row.side = boundary.side;
  row.peer = boundary.peer;
  row.dtype = dtype_name(value.scalar_type());
  row.shape = value.sizes().vec();
  row.digest = digest(value);
  row.bytes = value.numel() * static_cast<std::int64_t>(value.element_size());
  keep("boundary/" + row.direction + "/" + std::to_string(row.microbatch) + "/" + row.cut + "/" + row.side, value);
  writer_.add(std::move(row));
}

void StepRecorder::step_ended(std::int64_t step) {
  if (!writer_.wants_dump()) return;
  const auto folder = writer_.folder() / "dumps";
  make_folder(folder);
  write_tensors(folder / dump_file_name(step), kept_);
  kept_.clear();
}

}  // namespace plumbline
