#include "training/step_recorder.hpp"

#include <ATen/Tensor.h>

#include <algorithm>

#include "support/files.hpp"
#include "support/safetensors.hpp"
#include "training/memory_meter.hpp"
#include "training/tensor_record.hpp"

namespace plumbline {
namespace {

Shape shape_of(const at::Tensor& tensor) {
  return tensor.sizes().vec();
}

}  // namespace

void StepRecorder::keep(std::string key, const at::Tensor& value) {
  if (!writer_.wants_dump()) return;
  // A copy in any case: the tensor itself goes on changing.
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

void StepRecorder::gradients(std::int64_t step, std::int64_t stage, const std::vector<Parameter>& parameters) {
  if (!writer_.wants_tensors()) return;
  const MemoryScope scope(MemoryOwner::recorder);
  for (const Parameter& parameter : parameters) {
    tensor(step, stage, "gradient", parameter.name, parameter.value.grad());
  }
}

void StepRecorder::tied_use(const std::string& name, const at::Tensor& gradient) {
  const MemoryScope scope(MemoryOwner::recorder);
  keep("gradient_use/" + name, gradient);
}

void StepRecorder::tied_uses(const std::vector<Parameter>& parameters) {
  const auto alias = std::ranges::find(parameters, true, &Parameter::alias);
  if (alias == parameters.end()) return;
  const auto embedding = std::ranges::find(parameters, "model.embed_tokens.weight", &Parameter::name);
  tied_use(embedding->name, embedding->value.grad());
  tied_use(alias->name, alias->value.grad());
}

void StepRecorder::parameters(std::int64_t step, std::int64_t stage, const std::vector<Parameter>& parameters) {
  if (!writer_.wants_tensors()) return;
  const MemoryScope scope(MemoryOwner::recorder);
  for (const Parameter& parameter : parameters) tensor(step, stage, "parameter", parameter.name, parameter.value);
}

void StepRecorder::moments(std::int64_t step, std::int64_t stage, const std::vector<Parameter>& parameters,
                           const Optimizer& optimizer) {
  if (!writer_.wants_tensors()) return;
  const MemoryScope scope(MemoryOwner::recorder);
  for (const Parameter& parameter : parameters) {
    const std::string& owner = parameter.alias ? parameters.front().name : parameter.name;
    const auto state = std::ranges::find(optimizer.states(), owner, &Optimizer::State::name);
    if (state == optimizer.states().end()) continue;
    if (state->moment1.defined()) tensor(step, stage, "moment1", parameter.name, state->moment1);
    if (state->moment2.defined()) tensor(step, stage, "moment2", parameter.name, state->moment2);
  }
}

void StepRecorder::boundary(std::int64_t step, std::int64_t microbatch, const std::string& direction,
                            const std::string& cut, const std::string& side, const Crossing& crossing,
                            const at::Tensor& value) {
  if (!writer_.wants_tensors()) return;
  const MemoryScope scope(MemoryOwner::recorder);
  BoundaryRow row;
  row.step = step;
  row.microbatch = microbatch;
  row.direction = direction;
  row.cut = cut;
  row.from_stage = crossing.from_stage;
  row.to_stage = crossing.to_stage;
  row.side = side;
  row.peer = crossing.peer;
  row.dtype = dtype_name(value.scalar_type());
  row.shape = shape_of(value);
  row.digest = digest(value);
  row.bytes = value.numel() * static_cast<std::int64_t>(value.element_size());
  writer_.add(std::move(row));
  keep("boundary/" + direction + "/" + std::to_string(microbatch) + "/" + cut + "/" + side, value);
}

void StepRecorder::end_step(std::int64_t step) {
  if (!writer_.wants_dump()) return;
  std::vector<NamedBytes> tensors;
  for (const auto& [key, value] : kept_) {
    const auto* bytes = static_cast<const std::byte*>(value.const_data_ptr());
    tensors.push_back({key, {dtype_name(value.scalar_type()), shape_of(value), {bytes, value.nbytes()}}});
  }
  const auto folder = writer_.folder() / "dumps";
  make_folder(folder);
  const std::string name = step == initial_step ? "initial" : std::to_string(step);
  write_safetensors(folder / ("step-" + name + ".safetensors"), tensors);
  kept_.clear();
}

}  // namespace plumbline
