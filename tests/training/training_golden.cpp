// SPDX-License-Identifier: BSD-3-Clause
#include "tests/training/training_golden.hpp"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "model/load_weights.hpp"
#include "model/parameter.hpp"
#include "model/unit.hpp"
#include "tests/goldens/golden_machine.hpp"
#include "tests/paths.hpp"
#include "training/environment.hpp"
#include "training/gradient_norm.hpp"
#include "training/optimizer.hpp"
#include "training/run.hpp"
#include "training/tensor_record.hpp"

namespace plumbline::testing {

namespace {

void copy_into(const at::Tensor& to, const at::Tensor& from) {
  const at::NoGradGuard no_grad;
  to.copy_(from);
}

LlamaSlice make_slice(const TrainingGolden& golden) {
  const LlamaConfig config = golden.config();
  const TrainSettings train = golden.train();
  LlamaSlice slice(config, {0, static_cast<std::int64_t>(unit_names(config).size())}, computed_type(train));
  if (is_mixed(train)) slice.keep_masters();
  load_weights(slice, golden.weights());
  slice.allocate_gradients();
  slice.prepare_tables(config.max_position_embeddings);
  return slice;
}

double relative_error(double ours, double golden) {
  return std::abs(ours - golden) / std::abs(golden);
}

void place_golden_gradients(const TrainingGolden& golden, std::int64_t step, LlamaSlice& slice) {
  for (const Parameter& parameter : slice.parameters()) {
    const std::string name = parameter.alias ? "model.embed_tokens.weight" : parameter.name;
    copy_into(parameter.gradient_sum.defined() ? parameter.gradient_sum : parameter.value.grad(),
              golden.tensor("gradient/" + std::to_string(step) + "/" + name));
  }
}

class Player {
 public:
  Player(const TrainingGolden& golden, const Mistake& mistake)
      : golden_(golden), mistake_(mistake), train_(golden.train()), slice_(make_slice(golden)) {
    if (mistake_.settings) mistake_.settings(train_.optimizer);
  }

  Outcome play() {
    TrainState state(train_.optimizer, slice_.parameters());
    if (mistake_.state) mistake_.state(state);
    for (std::int64_t step = 0; step < train_.steps; ++step) {
      place_golden_gradients(golden_, step, slice_);
      update(step, state);
      for (const Parameter& parameter : slice_.parameters()) {
        if (parameter.alias) continue;
        const std::string place = "/" + std::to_string(step) + "/" + parameter.name;
        compare("parameter" + place, parameter.trained().detach());
        if (parameter.master.defined()) compare("copy" + place, parameter.value.detach());
      }
    }
    for (const TrainedParameter& each : state.parameters) {
      if (each.alias) continue;
      const std::string place = "/" + std::to_string(train_.steps - 1) + "/" + each.name;
      outcome_.moments.add(each.moment1, golden_.tensor("moment1" + place));
      if (each.moment2.defined()) outcome_.moments.add(each.moment2, golden_.tensor("moment2" + place));
    }
    return outcome_;
  }

 private:
  void compare(const std::string& key, const at::Tensor& ours) {
    if (!golden_.has_digest_alone(key)) {
      outcome_.parameters.add(ours, golden_.tensor(key));
    } else if (golden_.same_code_path()) {
      outcome_.parameters.add(ours, golden_.digest(key));
    }
  }

  void update(std::int64_t step, TrainState& state) {
    const double norm = total_norm(slice_.config(), gradient_norms(slice_.config(), state));
    double coefficient = clip_coefficient(norm, train_.clip_norm);
    if (mistake_.coefficient) coefficient = mistake_.coefficient(norm, coefficient);
    const double golden_norm = golden_.number("norm", step);
    outcome_.norm_error = std::max(outcome_.norm_error, relative_error(norm, golden_norm));
    outcome_.coefficient_error =
        std::max(outcome_.coefficient_error, relative_error(coefficient, golden_.number("coefficient", step)));
    scale_gradients(state, coefficient);
    if (mistake_.gradients) mistake_.gradients(slice_.parameters());
    optimizer_step(train_.optimizer, state, golden_.number("rate", step));
  }

  const TrainingGolden& golden_;
  const Mistake& mistake_;
  TrainSettings train_;
  LlamaSlice slice_;
  Outcome outcome_;
};

}  // namespace

TrainingGolden::TrainingGolden(const std::string& name)
    : folder_(std::filesystem::path(fixtures_path()) / "training_golden" / name),
      json_(read_json(folder_ / "golden.json")),
      file_(folder_ / "steps.safetensors") {}

at::ScalarType TrainingGolden::dtype() const {
  return trained_type(train());
}

bool TrainingGolden::same_code_path() const {
  return holds_bits_of_here(json_);
}

at::Tensor TrainingGolden::tensor(const std::string& key) const {
  const SafetensorsEntry& entry = file_.at(key);
  at::Tensor tensor = at::empty(entry.shape, parse_dtype(entry.dtype));
  std::memcpy(tensor.mutable_data_ptr(), entry.bytes.data(), entry.bytes.size());
  return tensor;
}

double TrainingGolden::number(const std::string& column, std::int64_t step) const {
  return tensor(column)[step].item<double>();
}

void Comparison::add(const at::Tensor& ours, const at::Tensor& golden) {
  if (ours.sizes() != golden.sizes() || ours.scalar_type() != golden.scalar_type()) {
    throw std::logic_error("a golden of another shape or dtype");
  }
  const at::Tensor a = ours.contiguous();
  const at::Tensor b = golden.contiguous();
  const auto* left = static_cast<const char*>(a.const_data_ptr());
  const auto* right = static_cast<const char*>(b.const_data_ptr());
  const std::size_t size = a.element_size();
  for (std::int64_t i = 0; i < a.numel(); ++i, left += size, right += size) {
    differing += std::memcmp(left, right, size) == 0 ? 0 : 1;
  }
  const double difference = a.sub(b).abs().max().item<double>();
  const double scale = b.abs().max().item<double>();
  const double part = difference == 0 ? 0 : difference / scale;
  // std::max drops a NaN on one side only: it must stay, for a limit to fail on it.
  largest = std::isnan(part) ? part : std::max(part, largest);
  tensors += 1;
  elements += a.numel();
}

void Comparison::add(const at::Tensor& ours, const std::string& golden_digest) {
  differing += digest(ours) == golden_digest ? 0 : ours.numel();
  tensors += 1;
  elements += ours.numel();
}

Outcome update_with_golden_gradients(const TrainingGolden& golden, const Mistake& mistake) {
  return Player(golden, mistake).play();
}

}  // namespace plumbline::testing
