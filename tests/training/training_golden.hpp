// One folder of fixtures/training_golden, and what our own training code makes of it.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "model/llama_slice.hpp"
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
  TrainSettings train() const;
  at::ScalarType dtype() const;  ///< of parameters, gradients and moments
  bool same_code_path() const;
  std::int64_t steps() const { return json_.at("steps").get<std::int64_t>(); }
  std::int64_t microbatches() const { return json_.at("microbatches").get<std::int64_t>(); }
  bool has(const std::string& key) const { return file_.entries().contains(key); }
  /// A copy, so that it is aligned and may be changed.
  at::Tensor tensor(const std::string& key) const;
  /// Element of a float64 column of one number a step.
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
  std::int64_t differing = 0;   ///< elements whose bits differ
  double largest = 0;           ///< largest difference, as a part of the tensor's largest element
  double largest_absolute = 0;  ///< largest difference
  void add(const at::Tensor& ours, const at::Tensor& golden);
};

/// A planted mistake, or none of them.
struct Mistake {
  std::function<void(OptimizerSettings&)> settings = nullptr;
  std::function<double(double norm, double coefficient)> coefficient = nullptr;
  std::function<void(std::vector<Parameter>&)> gradients = nullptr;  ///< just before the optimiser's step
  std::function<void(Optimizer&)> optimizer = nullptr;               ///< before the first step
};

struct Outcome {
  Comparison losses, gradients, parameters, moments;
  double norm_error = 0;         ///< relative, largest
  double coefficient_error = 0;  ///< relative, largest
};

/// The optimiser's half alone: the golden's gradients are put in place, then norm, clipping and update are ours.
Outcome update_with_golden_gradients(const TrainingGolden& golden, const Mistake& mistake = {});
/// All of it from the ids on. On another code path each update takes the golden's gradients, so that limits do not
/// compound.
Outcome train_from_ids(const TrainingGolden& golden);

}  // namespace plumbline::testing
