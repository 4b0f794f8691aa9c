// SPDX-License-Identifier: BSD-3-Clause
#include "tests/mutant/replica_faults.hpp"

#include <ATen/Tensor.h>
#include <c10/core/GradMode.h>

#include <set>
#include <utility>
#include <vector>

#include "training/memory_meter.hpp"

namespace plumbline::mutant {
namespace {

class FaultySum : public Seams {
 public:
  explicit FaultySum(Fault fault) : fault_(std::move(fault)) {}

  void made(const Run& /*run*/, const RankParts& parts) override {
    for (const TrainedParameter& each : parts.state.parameters) gradients_.push_back({each.stage, each.gradient(), {}});
  }

  void stage_begins(bool forward, std::int64_t step, std::int64_t /*microbatch*/) override {
    if (forward || fault_.id != "D4" || step != fault_.step) return;
    for (Gradient& each : gradients_) {
      if (!started_.contains(each.stage)) keep(each);
    }
  }

  void before_replica_sum(std::int64_t step, std::int64_t stage, int replica) override {
    step_ = step;
    started_.insert(stage);
    if (replica != fault_.rank || step != fault_.step) return;
    const c10::NoGradGuard no_grad;
    for (Gradient& each : gradients_) {
      if (each.stage != stage) continue;
      if (fault_.id == "D5") keep(each);
      if (fault_.id == "D1") each.sum.zero_();
      if (fault_.id == "D2") each.sum.mul_(2);
      if (fault_.id != "D4" || !each.kept.defined()) continue;
      const MemoryScope scope(MemoryOwner::other);
      const at::Tensor late = each.sum - each.kept;  // added by the last pass
      each.sum.copy_(each.kept);
      each.kept = late;
    }
  }

  void after_replica_sum(int replica, int replicas) override {
    if (started_.empty()) return;  // REDUCE has finished it
    const c10::NoGradGuard no_grad;
    const bool struck = replica == fault_.rank && step_ == fault_.step;
    for (Gradient& each : gradients_) {
      if (fault_.id == "D3" && step_ == fault_.step) each.sum.div_(replicas);
      if (fault_.id == "D4" && struck && each.kept.defined()) each.sum.add_(each.kept);
      if (fault_.id == "D5" && struck) each.sum.copy_(each.kept);
      each.kept.reset();
    }
    started_.clear();
  }

 private:
  struct Gradient {
    std::int64_t stage;
    at::Tensor sum, kept;
  };
  static void keep(Gradient& gradient) {
    const c10::NoGradGuard no_grad;
    const MemoryScope scope(MemoryOwner::other);
    gradient.kept = gradient.sum.clone();
  }

  Fault fault_;
  std::vector<Gradient> gradients_;
  std::int64_t step_ = 0;
  std::set<std::int64_t> started_;  ///< stages whose sums have started
};

}  // namespace

std::unique_ptr<Seams> make_replica_fault(const Fault& fault) {
  return std::make_unique<FaultySum>(fault);
}

}  // namespace plumbline::mutant
