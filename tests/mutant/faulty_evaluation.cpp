// SPDX-License-Identifier: BSD-3-Clause
#include "tests/mutant/faulty_evaluation.hpp"

#include <ATen/Tensor.h>
#include <ATen/core/grad_mode.h>

#include <utility>
#include <vector>

namespace plumbline::mutant {
namespace {

/// As in a trainer that zeroes gradients after its update: gradients of an evaluation stay for the next step.
class GradientsLeftBehind : public Seams {
 public:
  void made(const Run& /*run*/, const RankParts& parts) override {
    for (const TrainedParameter& each : parts.state.parameters) gradients_.push_back(each.gradient());
  }
  void evaluated(std::optional<EvaluationResult>& /*result*/) override {
    const at::NoGradGuard no_grad;
    for (at::Tensor& gradient : gradients_) gradient.fill_(1e-3);
    left_ = true;
  }
  bool zeroes_gradients(std::int64_t /*step*/) override { return !std::exchange(left_, false); }

 private:
  std::vector<at::Tensor> gradients_;
  bool left_ = false;
};

/// As if an evaluation took its tokens from the training data.
class DataPositionMoved : public Seams {
 public:
  void evaluation_begins() override { evaluates_ = true; }
  void evaluated(std::optional<EvaluationResult>& /*result*/) override {
    evaluates_ = false;
    ++moved_;
  }
  std::int64_t step_of_data(std::int64_t step) override { return evaluates_ ? step : step + moved_; }

 private:
  bool evaluates_ = false;
  std::int64_t moved_ = 0;
};

class AnotherMicrobatchsLoss : public Seams {
 public:
  void evaluated(std::optional<EvaluationResult>& result) override {
    if (result) result->losses.at(0) = result->losses.at(1);
  }
};

}  // namespace

std::unique_ptr<Seams> make_faulty_evaluation(const Fault& fault) {
  if (fault.id == "E-gradients") return std::make_unique<GradientsLeftBehind>();
  if (fault.id == "E-data") return std::make_unique<DataPositionMoved>();
  return std::make_unique<AnotherMicrobatchsLoss>();
}

}  // namespace plumbline::mutant
