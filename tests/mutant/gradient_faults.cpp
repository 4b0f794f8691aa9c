// SPDX-License-Identifier: BSD-3-Clause
#include "tests/mutant/gradient_faults.hpp"

#include <ATen/Tensor.h>
#include <ATen/TensorOperators.h>
#include <ATen/ops/full.h>
#include <c10/core/GradMode.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "training/memory_meter.hpp"

namespace plumbline::mutant {
namespace {

/// C12: uses the previous microbatch's boundary gradient, if it has the same shape.
class StaleGradient : public Seams {
 public:
  explicit StaleGradient(Fault fault) : fault_(std::move(fault)) {}
  at::Tensor stage_gradient(at::Tensor gradient, std::int64_t step, std::int64_t microbatch) override {
    if (!gradient.defined()) return gradient;
    const bool struck = fault_.strikes(step, microbatch) && before_.defined() && before_.sizes() == gradient.sizes();
    const MemoryScope scope(MemoryOwner::other);
    const at::Tensor stale = std::exchange(before_, gradient.clone());
    if (struck) gradient.copy_(stale);
    return gradient;
  }

 private:
  Fault fault_;
  at::Tensor before_;
};

/// G3: the reported loss is divided by the step's valid tokens, the differentiated one is not.
class LossNotNormalized : public Seams {
 public:
  void made(const Run& run, const RankParts& /*parts*/) override {
    tokens_ = static_cast<double>(run.batches.step_valid_tokens(0));
  }
  at::Tensor stage_gradient(at::Tensor gradient, std::int64_t /*step*/, std::int64_t /*microbatch*/) override {
    return gradient.defined() ? gradient : at::full({}, tokens_, at::kFloat);
  }

 private:
  double tokens_ = 1;
};

/// G4: each microbatch's loss is the mean over its own tokens, and the step's the mean of those.
class MeanOfMeans : public Seams {
 public:
  void made(const Run& run, const RankParts& /*parts*/) override { microbatches_ = run.batches.microbatches(); }
  std::int64_t tokens_of_loss(std::int64_t own_tokens, std::int64_t /*tokens*/) override {
    return std::max<std::int64_t>(own_tokens, 1) * microbatches_;
  }

 private:
  std::int64_t microbatches_ = 1;
};

/// G9: divides by the number of microbatches at every stage instead of once.
class ScaledAtEachStage : public Seams {
 public:
  void made(const Run& run, const RankParts& /*parts*/) override {
    factor_ = 1.0 / static_cast<double>(run.batches.microbatches());
  }
  void stage_input_gradient(const at::Tensor& gradient, std::int64_t /*step*/, std::int64_t /*microbatch*/) override {
    gradient.mul_(factor_);
  }

 private:
  double factor_ = 1;
};

/// G2, G5, G10, G11: changes the sums of the rank's gradients between two microbatches.
class Accumulated : public Seams {
 public:
  explicit Accumulated(Fault fault) : fault_(std::move(fault)) {}

  void made(const Run& run, const RankParts& parts) override {
    plan_ = &run.batches;
    for (const TrainedParameter& each : parts.state.parameters) {
      if (!each.alias) sums_.push_back(each.gradient());
    }
  }

  void stage_begins(bool forward, std::int64_t step, std::int64_t microbatch) override {
    if (forward || step != fault_.step) return;
    const c10::NoGradGuard no_grad;
    const std::int64_t length = plan_->sequence_length(microbatch);
    const bool another_length = std::exchange(length_, length) != length;
    if (fault_.id == "G2") {
      for (const at::Tensor& sum : sums_) sum.mul_(1.0 / static_cast<double>(plan_->microbatches()));
    } else if (fault_.id == "G10" || (fault_.id == "G5" && another_length)) {
      for (const at::Tensor& sum : sums_) sum.zero_();
    } else if (fault_.id == "G11") {
      const MemoryScope scope(MemoryOwner::other);
      before_.clear();
      for (const at::Tensor& sum : sums_) before_.push_back(sum.clone());
    }
  }

  void weight_gradients_added(std::int64_t step, std::int64_t microbatch) override {
    if (fault_.id != "G11" || !fault_.strikes(step, microbatch)) return;
    const c10::NoGradGuard no_grad;
    for (std::size_t i = 0; i < sums_.size(); ++i) sums_[i].add_(sums_[i] - before_[i]);
    before_.clear();
  }

 private:
  Fault fault_;
  const BatchPlan* plan_ = nullptr;
  std::vector<at::Tensor> sums_, before_;
  std::int64_t length_ = 0;
};

}  // namespace

bool is_gradient_fault(const std::string& id) {
  const std::vector<std::string> known = {"C12", "G2", "G3", "G4", "G5", "G9", "G10", "G11"};
  return std::ranges::find(known, id) != known.end();
}

std::unique_ptr<Seams> make_gradient_fault(const Fault& fault) {
  if (fault.id == "C12") return std::make_unique<StaleGradient>(fault);
  if (fault.id == "G3") return std::make_unique<LossNotNormalized>();
  if (fault.id == "G4") return std::make_unique<MeanOfMeans>();
  if (fault.id == "G9") return std::make_unique<ScaledAtEachStage>();
  return std::make_unique<Accumulated>(fault);
}

}  // namespace plumbline::mutant
