// SPDX-License-Identifier: BSD-3-Clause
#include "tests/mutant/faulty_resume.hpp"

#include <ATen/Tensor.h>
#include <ATen/core/grad_mode.h>

#include <algorithm>
#include <string>

#include "model/load_weights.hpp"
#include "model/tied_names.hpp"
#include "support/numbers.hpp"
#include "support/tensor_files.hpp"

namespace plumbline::mutant {
namespace {

class OptimizerStateLost : public Seams {
 public:
  explicit OptimizerStateLost(bool moments) : moments_(moments) {}
  void resumed(const std::string& /*checkpoint*/, TrainState& state) override {
    for (TrainedParameter& each : state.parameters) {
      if (!moments_ && each.updates.defined()) each.updates.zero_();
      if (moments_ && each.moment1.defined()) each.moment1.zero_();
      if (moments_ && each.moment2.defined()) each.moment2.zero_();
    }
  }

 private:
  bool moments_;
};

/// Counts from the start again: the data or the learning rate.
class CountsAnew : public Seams {
 public:
  explicit CountsAnew(bool data) : data_(data) {}
  void resumed(const std::string& /*checkpoint*/, TrainState& state) override { first_ = state.step; }
  std::int64_t step_of_data(std::int64_t step) override { return data_ ? step - first_ : step; }
  std::int64_t step_of_rate(std::int64_t step) override { return data_ ? step : step - first_; }

 private:
  bool data_;
  std::int64_t first_ = 0;
};

class TiedCopyNotLoaded : public Seams {
 public:
  void made(const Run& /*run*/, const RankParts& parts) override {
    for (const TrainedParameter& each : parts.state.parameters) {
      if (each.name == head_weight && !each.alias) initial_ = each.value.detach().clone();
    }
  }
  void resumed(const std::string& /*checkpoint*/, TrainState& state) override {
    const at::NoGradGuard no_grad;
    for (TrainedParameter& each : state.parameters) {
      if (each.name == head_weight && !each.alias) each.value.copy_(initial_);
    }
  }

 private:
  at::Tensor initial_;
};

/// As if each rank counted its own layers from 0.
class LayersByLocalNumber : public Seams {
 public:
  void resumed(const std::string& checkpoint, TrainState& state) override {
    const at::NoGradGuard no_grad;
    const TensorFiles files = TensorFiles::of_model(checkpoint);
    const std::string layers = "model.layers.";
    std::int64_t first = -1;
    for (TrainedParameter& each : state.parameters) {
      if (!each.name.starts_with(layers)) continue;
      const auto end = each.name.find('.', layers.size());
      const std::int64_t number = parse_integer(each.name.substr(layers.size(), end - layers.size())).value();
      if (first < 0) first = number;
      load_tensor(files, layers + std::to_string(number - first) + each.name.substr(end), each.value);
    }
  }
};

}  // namespace

std::unique_ptr<Seams> make_faulty_resume(const Fault& fault) {
  if (fault.id == "R-steps") return std::make_unique<OptimizerStateLost>(false);
  if (fault.id == "R-moments") return std::make_unique<OptimizerStateLost>(true);
  if (fault.id == "R-data") return std::make_unique<CountsAnew>(true);
  if (fault.id == "R-rate") return std::make_unique<CountsAnew>(false);
  if (fault.id == "R-tied") return std::make_unique<TiedCopyNotLoaded>();
  return std::make_unique<LayersByLocalNumber>();
}

}  // namespace plumbline::mutant
