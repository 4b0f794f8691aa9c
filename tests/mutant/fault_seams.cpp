#include "tests/mutant/fault_seams.hpp"

#include <ATen/Tensor.h>
#include <ATen/TensorOperators.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/zeros_like.h>
#include <c10/core/GradMode.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "tests/mutant/forwarding_transport.hpp"

namespace plumbline::mutant {
namespace {

/// Microbatches of the runs that canaries train on; G1's factor.
constexpr double unscaled_factor = 8;

std::vector<Parameter>::iterator find_head(std::vector<Parameter>& parameters) {
  return std::ranges::find(parameters, "lm_head.weight", &Parameter::name);
}

/// The first element that is not zero, one step of its dtype further from zero.
void move_one_ulp(const at::Tensor& tensor) {
  const auto raise_bits = [&](auto* bits) {
    for (std::int64_t i = 0; i < tensor.numel(); ++i) {
      if (static_cast<std::uint64_t>(bits[i]) << (65 - 8 * sizeof *bits) == 0) continue;  // either zero
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

}  // namespace

std::vector<UnitRange> DroppedLayer::partition(std::vector<UnitRange> stages) {
  ++stages.at(static_cast<std::size_t>(stage_)).first;
  return stages;
}

void DroppedLayer::slice_made(const LlamaSlice& slice) {
  parameters_.clear();
  for (const ParameterShape& shape : parameter_shapes(slice.config())) parameters_.push_back(shape.name);
}

Transport& DroppedLayer::transport(Transport& inner) {
  gathering_ = std::make_unique<NormsMadeUp>(inner, parameters_);
  return *gathering_;
}

void WholeModel::slice_made(const LlamaSlice& slice) {
  const MemoryScope scope(owner_);
  whole_.emplace(slice.config(), UnitRange{0, slice.config().layers + 3}, at::kFloat);
}

at::Tensor DroppedGradient::stage_gradient(at::Tensor gradient, std::int64_t step, const Action& action) {
  if (!fault_.strikes(step, action.microbatch)) return gradient;
  return gradient.zero_();
}

LossFunction UnscaledLoss::loss(LossFunction inner) {
  return [inner = std::move(inner)](const at::Tensor& logits, const at::Tensor& labels, std::int64_t valid_tokens) {
    const at::Tensor loss = inner(logits, labels, valid_tokens);
    return loss + (loss - loss.detach()) * (unscaled_factor - 1);
  };
}

void FrozenHead::before_update(std::int64_t /*step*/, std::vector<Parameter>& parameters) {
  const auto head = find_head(parameters);
  if (head == parameters.end()) return;
  const MemoryScope scope(MemoryOwner::other);
  head_ = head->value.detach().clone();
}

void FrozenHead::after_update(std::int64_t /*step*/, std::vector<Parameter>& parameters) {
  const auto head = find_head(parameters);
  if (head == parameters.end()) return;
  head->value.detach().copy_(head_);
  head_.reset();
}

at::Tensor OneNan::stage_output(at::Tensor output, std::int64_t step, const Action& action) {
  if (action.type != ActionType::forward || !fault_.strikes(step, action.microbatch)) return output;
  output.view(-1)[0].fill_(std::numeric_limits<double>::quiet_NaN());
  return output;
}

void OneUlp::slice_made(const LlamaSlice& slice) {
  if (!gradient_.defined() && !slice.parameters().empty()) gradient_ = slice.parameters().front().value.grad();
}

at::Tensor OneUlp::stage_output(at::Tensor output, std::int64_t step, const Action& action) {
  if (!fault_.strikes(step, action.microbatch)) return output;
  const bool forward = action.type == ActionType::forward;
  if (fault_.id == (forward ? "U2" : "U2b")) move_one_ulp(output);
  if (fault_.id == "U3" && !forward) move_one_ulp(gradient_);
  return output;
}

void OneUlp::after_update(std::int64_t step, std::vector<Parameter>& parameters) {
  if (fault_.id == "U5" && step == fault_.step) move_one_ulp(parameters.front().value);
}

at::Tensor KeptInputs::stage_input(at::Tensor input, std::int64_t step, const Action& action) {
  if (fault_.strikes(step, action.microbatch)) kept_.push_back(input.detach());
  return input;
}

void Leak::after_update(std::int64_t /*step*/, std::vector<Parameter>& parameters) {
  kept_.push_back(at::empty({16}, parameters.front().value.options().requires_grad(false)));
}

void NoTensor::slice_made(const LlamaSlice& /*slice*/) {
  if (step_ < 0) taken_.assign(static_cast<std::size_t>(bytes_), 1);
}

void NoTensor::before_update(std::int64_t step, std::vector<Parameter>& /*parameters*/) {
  if (step == step_) taken_.assign(static_cast<std::size_t>(bytes_), 1);
}

void ExtraTensor::before_update(std::int64_t step, std::vector<Parameter>& /*parameters*/) {
  if (step != fault_.step) return;
  const MemoryScope scope(owner_);
  tensor_ = at::empty({bytes_}, at::kByte);
  if (!kept_) tensor_.reset();
}

ActionList SwappedActions::actions(ActionList list) {
  const auto backward = std::ranges::find(list, ActionType::backward, &Action::type);
  const auto forward =
      std::find_if(backward, list.end(), [](const Action& a) { return a.type == ActionType::forward; });
  if (forward != list.end()) std::swap(*backward, *forward);
  return list;
}

ActionList OtherSchedule::actions(ActionList list) {
  const auto in_forward = [](const Action& action) {
    return action.type == ActionType::forward || action.type == ActionType::send_forward ||
           action.type == ActionType::receive_forward;
  };
  std::ranges::stable_partition(list, in_forward);
  return list;
}

Transport& FaultyWire::transport(Transport& inner) {
  faulty_ = make_faulty_transport(fault_, rank_, inner);
  return *faulty_;
}

}  // namespace plumbline::mutant
