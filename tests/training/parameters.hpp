// SPDX-License-Identifier: BSD-3-Clause
// Parameters made by hand, for tests of what follows the backward pass.
#pragma once

#include <ATen/ops/empty.h>

#include <algorithm>
#include <string>
#include <vector>

#include "model/parameter.hpp"
#include "training/train_state.hpp"

namespace plumbline::testing {

inline at::Tensor vector_of(const std::vector<double>& numbers, at::ScalarType dtype = at::kFloat) {
  at::Tensor tensor = at::empty({static_cast<std::int64_t>(numbers.size())}, at::kDouble);
  std::copy(numbers.begin(), numbers.end(), tensor.mutable_data_ptr<double>());
  return tensor.to(dtype);
}

inline std::vector<double> numbers_of(const at::Tensor& tensor) {
  const at::Tensor flat = tensor.detach().to(at::kDouble).contiguous();
  return {flat.const_data_ptr<double>(), flat.const_data_ptr<double>() + flat.numel()};
}

inline Parameter parameter_of(const std::string& name, const std::vector<double>& values,
                              const std::vector<double>& gradient, at::ScalarType dtype = at::kFloat) {
  Parameter parameter{name, "layers.0", vector_of(values, dtype).requires_grad_(), false};
  parameter.value.mutable_grad() = vector_of(gradient, dtype);
  return parameter;
}

inline OptimizerSettings adamw() {
  OptimizerSettings settings;
  settings.weight_decay = 0.1;
  return settings;
}

inline OptimizerSettings sgd(double momentum) {
  OptimizerSettings settings;
  settings.name = "sgd";
  settings.momentum = momentum;
  settings.weight_decay = 0.5;
  return settings;
}

/// Without optimizer state.
inline TrainState state_of(const std::vector<Parameter>& parameters) {
  OptimizerSettings settings;
  settings.name = "sgd";
  return {settings, parameters};
}

/// The head of a tied model in a slice that also holds its embedding.
inline Parameter alias_of(const Parameter& embedding, const std::vector<double>& gradient) {
  Parameter head{"lm_head.weight", "lm_head", embedding.value.detach().requires_grad_(), true};
  head.value.mutable_grad() = vector_of(gradient, embedding.value.scalar_type());
  return head;
}

}  // namespace plumbline::testing
