// SPDX-License-Identifier: BSD-3-Clause
#include "tests/mutant/replica_faults.hpp"

#include <ATen/Tensor.h>
#include <c10/core/GradMode.h>

#include <utility>
#include <vector>

#include "training/memory_meter.hpp"

namespace plumbline::mutant {
namespace {

using Tensors = std::vector<at::Tensor>;

class FaultySum : public Seams {
 public:
  explicit FaultySum(Fault fault) : fault_(std::move(fault)) {}

  void made(const TrainingRun& /*training*/, const RankParts& parts) override {
    for (const TrainedParameter& each : parts.state.parameters) gradients_.push_back(each.gradient());
  }

  void stage_begins(bool forward, std::int64_t step, std::int64_t /*microbatch*/) override {
    if (!forward && fault_.id == "D4" && step == fault_.step) keep();
  }

  void before_replica_sum(std::int64_t step, int replica, int /*replicas*/) override {
    if (replica != fault_.rank || step != fault_.step) return;
    const c10::NoGradGuard no_grad;
    if (fault_.id == "D5") keep();
    for (std::size_t i = 0; i < gradients_.size(); ++i) {
      if (fault_.id == "D1") gradients_[i].zero_();
      if (fault_.id == "D2") gradients_[i].mul_(2);
      if (fault_.id != "D4" || kept_.empty()) continue;
      const MemoryScope scope(MemoryOwner::other);
      const at::Tensor late = gradients_[i] - kept_[i];  // what the last pass adds
      gradients_[i].copy_(kept_[i]);
      kept_[i] = late;
    }
  }

  void after_replica_sum(std::int64_t step, int replica, int replicas) override {
    const c10::NoGradGuard no_grad;
    const bool struck = replica == fault_.rank && step == fault_.step;
    for (std::size_t i = 0; i < gradients_.size(); ++i) {
      if (fault_.id == "D3" && step == fault_.step) gradients_[i].div_(replicas);
      if (fault_.id == "D4" && struck && !kept_.empty()) gradients_[i].add_(kept_[i]);
      if (fault_.id == "D5" && struck) gradients_[i].copy_(kept_[i]);
    }
    kept_.clear();
  }

 private:
  void keep() {
    const c10::NoGradGuard no_grad;
    const MemoryScope scope(MemoryOwner::other);
    kept_.clear();
    for (const at::Tensor& gradient : gradients_) kept_.push_back(gradient.clone());
  }

  Fault fault_;
  Tensors gradients_, kept_;
};

}  // namespace

std::unique_ptr<Seams> make_replica_fault(const Fault& fault) {
  return std::make_unique<FaultySum>(fault);
}

}  // namespace plumbline::mutant
