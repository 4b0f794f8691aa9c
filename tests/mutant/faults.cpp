// SPDX-License-Identifier: BSD-3-Clause
#include "tests/mutant/faults.hpp"

#include <ATen/Tensor.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/full.h>
#include <ATen/ops/sub.h>
#include <c10/core/GradMode.h>

#include <algorithm>
#include <limits>

#include "model/parameter_shapes.hpp"
#include "model/unit.hpp"
#include "tests/mutant/forwarding_transport.hpp"
#include "training/train_state.hpp"

namespace plumbline::mutant {
namespace {

/// Microbatches of the runs that canaries train on; G1's factor.
constexpr double unscaled_factor = 8;

const TrainedParameter* find_head(const TrainState& state) {
  return TiedWeight(true, state).head();  // found by name, tied or not
}

/// Moves the first nonzero element one step of its dtype away from zero.
void move_one_ulp(const at::Tensor& tensor) {
  const auto raise_bits = [&](auto* bits) {
    for (std::int64_t i = 0; i < tensor.numel(); ++i) {
      if (static_cast<std::uint64_t>(bits[i]) << (65 - 8 * sizeof *bits) == 0) continue;  // +0 or -0
      ++bits[i];
      return;
    }
  };
  if (tensor.element_size() == 2) {
    raise_bits(static_cast<std::uint16_t*>(tensor.mutable_data_ptr()));
  } else {
    raise_bits(static_cast<std::uint32_t*>(tensor.mutable_data_ptr()));
  }
}

/// Gives rank 0 a norm of 0 for each parameter that no rank has.
class NormsMadeUp : public ForwardingTransport {
 public:
  NormsMadeUp(Transport& inner, const std::vector<std::string>& parameters)
      : ForwardingTransport(inner), parameters_(parameters) {}

  std::vector<std::string> gather(const std::string& bytes) override {
    std::vector<std::string> gathered = ForwardingTransport::gather(bytes);
    std::string all;
    for (const std::string& lines : gathered) all += lines;
    for (const std::string& name : parameters_) {
      if (!gathered.empty() && all.find(name + ' ') == std::string::npos) gathered.front() += name + " 0\n";
    }
    return gathered;
  }

 private:
  const std::vector<std::string>& parameters_;
};

/// The rank of the embedding gets zeros for the gradient of the tied weight's other use.
class HeadUseLost : public ForwardingTransport {
 public:
  using ForwardingTransport::ForwardingTransport;

  Pending receive(int peer, const MessageHeader& expected, at::Tensor into) override {
    Pending inner = ForwardingTransport::receive(peer, expected, std::move(into));
    if (rank() != 0 || is_between_replicas(expected) || is_boundary(expected)) return inner;
    return with_wait(std::move(inner), [](Pending& message) { return message->wait().zero_(); });
  }
};

}  // namespace

void NormsOfDroppedLayer::made(const Run& run, const RankParts& /*parts*/) {
  for (const ParameterShape& shape : parameter_shapes(run.config)) parameters_.push_back(shape.name);
}

Transport& NormsOfDroppedLayer::transport(Transport& inner) {
  gathering_ = std::make_unique<NormsMadeUp>(inner, parameters_);
  return *gathering_;
}

void WholeModel::made(const Run& run, const RankParts& /*parts*/) {
  const MemoryScope scope(MemoryOwner::parameters);
  whole_.emplace(run.config, all_units(run.config), at::kFloat);
}

at::Tensor DroppedGradient::stage_gradient(at::Tensor gradient, std::int64_t step, std::int64_t microbatch) {
  if (!fault_.strikes(step, microbatch)) return gradient;
  return gradient.zero_();
}

at::Tensor UnscaledLoss::stage_gradient(at::Tensor gradient, std::int64_t /*step*/, std::int64_t /*microbatch*/) {
  return gradient.defined() ? gradient : at::full({}, unscaled_factor, at::kFloat);
}

Transport& TiedNotReduced::transport(Transport& inner) {
  without_ = std::make_unique<HeadUseLost>(inner);
  return *without_;
}

void FrozenHead::before_update(TrainState& state) {
  const TrainedParameter* head = find_head(state);
  if (head == nullptr) return;
  const MemoryScope scope(MemoryOwner::other);
  head_ = head->value.detach().clone();
}

void FrozenHead::after_update(TrainState& state) {
  const TrainedParameter* head = find_head(state);
  if (head == nullptr) return;
  head->value.detach().copy_(head_);
  head_.reset();
}

void OneNan::stage_output(const at::Tensor& output, std::int64_t step, std::int64_t microbatch) {
  if (!fault_.strikes(step, microbatch)) return;
  output.view(-1)[0].fill_(std::numeric_limits<double>::quiet_NaN());
}

void OneUlp::made(const Run& /*run*/, const RankParts& parts) {
  if (!parts.state.parameters.empty()) gradient_ = parts.state.parameters.front().gradient();
}

void OneUlp::stage_output(const at::Tensor& output, std::int64_t step, std::int64_t microbatch) {
  if (fault_.id == "U2" && fault_.strikes(step, microbatch)) move_one_ulp(output);
}

void OneUlp::stage_input_gradient(const at::Tensor& gradient, std::int64_t step, std::int64_t microbatch) {
  if (!fault_.strikes(step, microbatch)) return;
  if (fault_.id == "U2b") move_one_ulp(gradient);
  if (fault_.id == "U3") move_one_ulp(gradient_);
}

void OneUlp::after_update(TrainState& state) {
  if (state.step != fault_.step + 1) return;
  if (fault_.id == "U5") move_one_ulp(state.parameters.front().value);
  if (fault_.id != "U6") return;
  for (const TrainedParameter* copy : TiedWeight(true, state).held()) move_one_ulp(copy->moment1);
}

void RecomputedFromAnotherInput::kept_input(const at::Tensor& input) {
  // Bypasses LibTorch's version counter; otherwise the backward pass would refuse the changed tensor.
  input.variable_data().mul_(2);
}

void MixedFault::gradient_added(const at::Tensor& sum) {
  if (fault_.id != "X1") return;
  at::Tensor rounded = sum;
  rounded.copy_(sum.to(at::kBFloat16));
}

void MixedFault::after_update(TrainState& state) {
  if (fault_.id != "X3" || state.step != fault_.step + 1) return;
  for (const TrainedParameter& each : state.parameters) {
    at::Tensor master = each.master;
    if (!each.alias) master.copy_(each.value.detach());
  }
}

at::Tensor KeptInputs::stage_input(at::Tensor input, std::int64_t step, std::int64_t microbatch) {
  if (fault_.strikes(step, microbatch)) kept_.push_back(input.detach());
  return input;
}

void ExtraTensor::before_update(TrainState& state) {
  if (state.step != fault_.step) return;
  const MemoryScope scope(owner_);
  tensor_ = at::empty({64 << 20}, at::kByte);
}

Transport& FaultyWire::transport(Transport& inner) {
  faulty_ = make_faulty_transport(fault_, rank_, inner);
  return *faulty_;
}

}  // namespace plumbline::mutant
