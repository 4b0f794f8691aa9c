// SPDX-License-Identifier: BSD-3-Clause
// Writes a step's tensors into the record, as rows and, at level dump, as bytes.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <string>

#include "record/writer.hpp"
#include "training/step_observer.hpp"
#include "training/tensor_record.hpp"

namespace plumbline {

inline constexpr std::int64_t initial_step = -1;

class StepRecorder : public StepObserver {
 public:
  explicit StepRecorder(RecordWriter& writer) : writer_(writer) {}

  /// The initial state, as step -1: parameters, and moments if the run was resumed.
  void start(const TrainState& state);

  void on_boundary(const BoundaryTensor& boundary, const at::Tensor& tensor) override;
  /// At level dump: all gradients at this point.
  /// At level dump: the gradient of each use of a tied weight.
  void before_update(std::int64_t step, const TrainState& state) override;
  void after_update(std::int64_t step, const TrainState& state, const StepUpdate& update) override;
  /// At level dump, writes the step's collected tensors to dumps/step-<k>.safetensors.
  void step_ended(std::int64_t step) override;

 private:
  void parameters_and_moments(std::int64_t step, const TrainState& state, bool with_moments);
  void tensor(std::int64_t step, std::int64_t stage, const std::string& kind, const std::string& name,
              const at::Tensor& value);
  void keep(std::string key, const at::Tensor& value);

  RecordWriter& writer_;
  NamedTensors kept_;
};

}  // namespace plumbline
