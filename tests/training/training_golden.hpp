// SPDX-License-Identifier: BSD-3-Clause
// One folder of fixtures/training_golden, and the update that norm, clipping and optimizer compute from its gradients.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "model/config.hpp"
#include "model/parameter.hpp"
#include "support/json.hpp"
#include "support/safetensors.hpp"
#include "training/optimizer.hpp"
#include "training/run_file.hpp"

namespace plumbline::testing {

class TrainingGolden {
 public:
  explicit TrainingGolden(const std::string& name);

  const Json& json() const { return json_; }
  LlamaConfig config() const { return load_config(folder_ / "config.json"); }
  TrainSettings train() const { return load_run_file(folder_ / "run.toml").train; }
  at::ScalarType dtype() const;  ///< of parameters, gradients and moments
  bool same_code_path() const;
  /// A copy, so that it is aligned and may be changed.
  at::Tensor tensor(const std::string& key) const;
  /// Parameters and copies before the last step, which are not stored.
  bool has_digest_alone(const std::string& key) const { return json_.at("digests").contains(key); }
  std::string digest(const std::string& key) const { return json_.at("digests").at(key).get<std::string>(); }
  /// Element of a float64 column with one number per step.
  double number(const std::string& column, std::int64_t step) const;
  std::filesystem::path weights() const { return folder_ / "model.safetensors"; }

 private:
  std::filesystem::path folder_;
  Json json_;
  SafetensorsFile file_;
};

/// What was compared and what differed.
struct Comparison {
  std::int64_t tensors = 0;
  std::int64_t elements = 0;
  std::int64_t differing = 0;  ///< elements whose bits differ; all elements of a tensor with another digest
  double largest = 0;          ///< largest difference, relative to the tensor's largest element
  void add(const at::Tensor& ours, const at::Tensor& golden);
  void add(const at::Tensor& ours, const std::string& golden_digest);
};

/// An injected mistake, or none.
struct Mistake {
  std::function<void(OptimizerSettings&)> settings = nullptr;
  std::function<double(double norm, double coefficient)> coefficient = nullptr;
  std::function<void(std::vector<Parameter>&)> gradients = nullptr;  ///< just before the optimizer's step
  std::function<void(TrainState&)> state = nullptr;                  ///< before the first step
};

struct Outcome {
  Comparison parameters, moments;
  double norm_error = 0;         ///< relative, largest
  double coefficient_error = 0;  ///< relative, largest
};

/// Sets the golden's gradients, then computes norm, clipping and update. tests/reference/training_golden_test.cpp
/// compares whole steps, from ids on.
Outcome update_with_golden_gradients(const TrainingGolden& golden, const Mistake& mistake = {});
}  // namespace plumbline::testing
