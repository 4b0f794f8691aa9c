// SPDX-License-Identifier: BSD-3-Clause
#include "tests/mutant/state_faults.hpp"

#include <ATen/Tensor.h>
#include <ATen/ops/mean.h>
#include <ATen/ops/rsqrt.h>
#include <c10/core/GradMode.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>
#include <vector>

#include "model/initialize.hpp"
#include "model/llama_slice.hpp"
#include "model/tied_names.hpp"
#include "pipeline/stage.hpp"
#include "training/memory_meter.hpp"
#include "training/train_state.hpp"

namespace plumbline::mutant {
namespace {

/// P2: a layer on two stages (change_plan) counts once in the norm, so that training continues.
class NormsOnce : public Seams {
 public:
  void norms(std::vector<ParameterNorm>& norms) override {
    std::set<std::string> seen;
    std::erase_if(norms, [&](const ParameterNorm& norm) { return !seen.insert(norm.name).second; });
  }
};

/// G7, G8: which norms rank 0 adds up.
class WrongNorms : public Seams {
 public:
  explicit WrongNorms(std::string id) : id_(std::move(id)) {}
  void made(const Run& /*run*/, const RankParts& parts) override {
    for (const TrainedParameter& each : parts.state.parameters) own_.insert(each.name);
  }
  void norms(std::vector<ParameterNorm>& norms) override {
    for (ParameterNorm& norm : norms) {
      if (id_ == "G7" && !own_.contains(norm.name)) norm.norm = 0;
      if (id_ == "G8" && norm.name == embedding_weight) norm.norm *= std::sqrt(2.0);
    }
  }

 private:
  std::string id_;
  std::set<std::string> own_;
};

/// P5, O4: the rank starts with the values of layers numbered from its own first one, or of another seed.
class OtherStart : public Seams {
 public:
  explicit OtherStart(const Fault& fault) : fault_(fault) {}
  void made(const Run& run, const RankParts& parts) override {
    const MemoryScope scope(MemoryOwner::other);
    const c10::NoGradGuard no_grad;
    const auto seed = static_cast<std::uint64_t>(run.train.seed);
    for (const auto& stage : parts.stages) {
      const LlamaSlice& slice = dynamic_cast<const LlamaStage&>(*stage).slice();
      const bool from_first = fault_.id == "P5";
      const UnitRange units =
          from_first ? UnitRange{1, 1 + count(run.config, slice.units(), UnitKind::layer)} : slice.units();
      LlamaSlice other(run.config, units, at::kFloat);
      initialize(other, from_first ? seed : seed + static_cast<std::uint64_t>(fault_.rank) + 1);
      const auto taken = [&](const Parameter& parameter) {
        return !from_first || parameter.unit.starts_with("layers.");
      };
      auto from = other.parameters().begin();
      for (const Parameter& parameter : slice.parameters()) {
        if (taken(parameter)) parameter.value.detach().copy_((from++)->value);
      }
    }
  }

 private:
  Fault fault_;
};

/// C7: swaps the labels of two microbatches of the same shape on the last stage.
class OtherLabels : public Seams {
 public:
  explicit OtherLabels(std::int64_t microbatch) : microbatch_(microbatch) {}
  std::int64_t microbatch_of_data(std::int64_t microbatch) override {
    if (microbatch == microbatch_) return microbatch_ + 1;
    return microbatch == microbatch_ + 1 ? microbatch_ : microbatch;
  }

 private:
  std::int64_t microbatch_;
};

/// M4: a stage's output is normalized, as after the last layer.
class NormOnEachStage : public Seams {
 public:
  void stage_output(const at::Tensor& output, std::int64_t /*step*/, std::int64_t /*microbatch*/) override {
    output.mul_(at::rsqrt(at::mean(output.pow(2), {-1}, /*keepdim=*/true).add(1e-5)));
  }
};

/// O1: the step does not change the rank's parameters and moments.
class SkippedUpdate : public Seams {
 public:
  explicit SkippedUpdate(Fault fault) : fault_(std::move(fault)) {}
  void before_update(TrainState& state) override {
    if (state.step != fault_.step) return;
    const MemoryScope scope(MemoryOwner::other);
    for (const at::Tensor& tensor : all(state)) kept_.push_back(tensor.detach().clone());
  }
  void after_update(TrainState& state) override {
    if (kept_.empty()) return;
    const std::vector<at::Tensor> tensors = all(state);
    for (std::size_t i = 0; i < tensors.size(); ++i) tensors[i].detach().copy_(kept_[i]);
    kept_.clear();
  }

 private:
  static std::vector<at::Tensor> all(const TrainState& state) {
    std::vector<at::Tensor> tensors;
    for (const TrainedParameter& each : state.parameters) {
      for (const at::Tensor& tensor : {each.value, each.moment1, each.moment2, each.updates})
        if (tensor.defined()) tensors.push_back(tensor);
    }
    return tensors;
  }

  Fault fault_;
  std::vector<at::Tensor> kept_;
};

/// O2: the learning rate advances with every microbatch.
class RateOfEachMicrobatch : public Seams {
 public:
  void made(const Run& run, const RankParts& /*parts*/) override { microbatches_ = run.batches.microbatches(); }
  std::int64_t step_of_rate(std::int64_t step) override { return step + microbatches_ - 1; }

 private:
  std::int64_t microbatches_ = 1;
};

/// T2: the head's copy of a tied weight is in another optimizer group, with its own weight decay.
class TiedInAnotherGroup : public Seams {
 public:
  void after_update(TrainState& state) override {
    const TrainedParameter* head = TiedWeight(true, state).head();
    if (head != nullptr) head->value.detach().mul_(0.999);
  }
};

/// H3: one bit of one element of a stage's output is flipped.
class FlippedBit : public Seams {
 public:
  explicit FlippedBit(Fault fault) : fault_(std::move(fault)) {}
  void stage_output(const at::Tensor& output, std::int64_t step, std::int64_t microbatch) override {
    if (fault_.id == "H3" && fault_.strikes(step, microbatch)) flip(output);
  }
  void stage_input_gradient(const at::Tensor& gradient, std::int64_t step, std::int64_t microbatch) override {
    if (fault_.id == "H3b" && fault_.strikes(step, microbatch)) flip(gradient);
  }

 private:
  static void flip(const at::Tensor& tensor) {
    constexpr std::uint32_t bit = 1U << 22;  // the mantissa's highest
    auto* bits = static_cast<std::uint32_t*>(tensor.mutable_data_ptr());
    bits[tensor.numel() / 2] ^= bit;
  }
  Fault fault_;
};

}  // namespace

bool is_state_fault(const std::string& id) {
  const std::vector<std::string> known = {"P2", "P5", "C7", "G7", "G8", "M4", "O1", "O2", "O4", "T2", "H3", "H3b"};
  return std::ranges::find(known, id) != known.end();
}

std::unique_ptr<Seams> make_state_fault(const Fault& fault) {
  if (fault.id == "P2") return std::make_unique<NormsOnce>();
  if (fault.id == "P5" || fault.id == "O4") return std::make_unique<OtherStart>(fault);
  if (fault.id == "C7") return std::make_unique<OtherLabels>(fault.microbatch.value_or(0));
  if (fault.id == "M4") return std::make_unique<NormOnEachStage>();
  if (fault.id == "O1") return std::make_unique<SkippedUpdate>(fault);
  if (fault.id == "O2") return std::make_unique<RateOfEachMicrobatch>();
  if (fault.id == "T2") return std::make_unique<TiedInAnotherGroup>();
  if (fault.id.starts_with("H3")) return std::make_unique<FlippedBit>(fault);
  return std::make_unique<WrongNorms>(fault.id);
}

}  // namespace plumbline::mutant
