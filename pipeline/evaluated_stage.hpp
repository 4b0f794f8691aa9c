// A stage of the Llama in an evaluation: forward alone, with the parameters that are being trained, and nothing kept.
#pragma once

#include <cstdint>

#include "model/llama_slice.hpp"
#include "pipeline/stage.hpp"
#include "training/step_observer.hpp"
#include "training/training_run.hpp"

namespace plumbline {

class EvaluatedStage : public Stage {
 public:
  /// `evaluation`: the run with the data that is evaluated. `observer` sees what it is fed, and the losses. All outlive
  /// it.
  EvaluatedStage(const TrainingRun& evaluation, std::int64_t index, const LlamaSlice& slice, StepObserver& observer)
      : evaluation_(evaluation), index_(index), slice_(slice), observer_(observer) {}

  std::int64_t index() const override { return index_; }
  bool first() const override { return index_ == 0; }
  bool last() const override;
  at::Tensor forward(std::int64_t step, std::int64_t microbatch, at::Tensor input) override;
  /// Throw std::logic_error.
  at::Tensor backward(std::int64_t step, std::int64_t microbatch, at::Tensor gradient) override;
  at::Tensor backward_input(std::int64_t step, std::int64_t microbatch, at::Tensor gradient) override;
  void backward_weight(std::int64_t step, std::int64_t microbatch) override;

 private:
  const TrainingRun& evaluation_;
  std::int64_t index_;
  const LlamaSlice& slice_;
  StepObserver& observer_;
};

}  // namespace plumbline
