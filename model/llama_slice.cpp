// SPDX-License-Identifier: BSD-3-Clause
#include "model/llama_slice.hpp"

#include <ATen/ops/embedding.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/zeros_like.h>

#include <algorithm>
#include <set>
#include <stdexcept>
#include <utility>

#include "model/decoder_layer.hpp"
#include "model/gradient_sums.hpp"
#include "model/linear.hpp"
#include "model/parameter_shapes.hpp"
#include "model/rms_norm.hpp"
#include "model/rope.hpp"
#include "model/tied_names.hpp"

namespace plumbline {
namespace {

/// The tensor of this name; undefined if the slice has none (a bias that the config disables).
at::Tensor find(const std::vector<Parameter>& parameters, const std::string& name) {
  for (const Parameter& parameter : parameters) {
    if (parameter.name == name) {
      return parameter.value;
    }
  }
  return {};
}

DecoderLayer bind_layer(const std::vector<Parameter>& parameters, std::int64_t number) {
  const std::string prefix = "model.layers." + std::to_string(number) + ".";
  const auto linear_weights = [&](const std::string& name) {
    return LinearWeights{find(parameters, prefix + name + ".weight"), find(parameters, prefix + name + ".bias")};
  };
  DecoderLayer layer;
  layer.self_attn = {linear_weights("self_attn.q_proj"), linear_weights("self_attn.k_proj"),
                     linear_weights("self_attn.v_proj"), linear_weights("self_attn.o_proj")};
  layer.mlp = {linear_weights("mlp.gate_proj"), linear_weights("mlp.up_proj"), linear_weights("mlp.down_proj")};
  layer.input_layernorm = find(parameters, prefix + "input_layernorm.weight");
  layer.post_attention_layernorm = find(parameters, prefix + "post_attention_layernorm.weight");
  return layer;
}

std::vector<Parameter> make_parameters(const LlamaConfig& config, UnitRange units, const at::TensorOptions& options) {
  const std::vector<std::string> names = unit_names(config);
  const std::set<std::string> own(names.begin() + units.first, names.begin() + units.end);
  std::vector<Parameter> parameters;
  for (const ParameterShape& shape : parameter_shapes(config)) {
    if (!own.contains(shape.unit)) continue;
    const at::Tensor embedding = is_tied_head(config, shape.name) ? find(parameters, embedding_weight) : at::Tensor();
    Parameter parameter{shape.name, shape.unit, {}, embedding.defined()};
    parameter.value = parameter.alias ? embedding.detach() : at::empty(shape.shape, options);
    parameter.value.set_requires_grad(true);
    parameters.push_back(std::move(parameter));
  }
  return parameters;
}

/// What separate tensors begin at a multiple of: at other alignments kernels may compute other bits.
constexpr std::size_t buffer_alignment = 64;

}  // namespace

LlamaSlice::LlamaSlice(const LlamaConfig& config, UnitRange units, at::ScalarType dtype, at::Device device)
    : config_(config), units_(units), options_(at::TensorOptions(dtype).device(device)) {
  if (units.first < 0 || units.first > units.end || units.end > unit_count(config)) {
    throw std::logic_error("units [" + std::to_string(units.first) + ", " + std::to_string(units.end) +
                           ") are not part of a model of " + std::to_string(unit_count(config)) + " units");
  }
  if (dtype != at::kFloat && dtype != at::kDouble && dtype != at::kBFloat16) {
    throw std::logic_error("a slice is float32, float64 or bfloat16, not " + std::string(c10::toString(dtype)));
  }
  parameters_ = make_parameters(config, units, options_);
  embedding_ = find(parameters_, embedding_weight);
  norm_ = find(parameters_, "model.norm.weight");
  head_.weight = find(parameters_, head_weight);
  for (std::int64_t number = units.first; number < units.end; ++number) {
    const Unit unit = unit_at(config, number);
    if (unit.kind != UnitKind::layer) continue;
    if (layers_.empty()) first_layer_ = unit.layer;
    layers_.push_back(bind_layer(parameters_, unit.layer));
  }
}

void LlamaSlice::keep_masters() {
  for (Parameter& parameter : parameters_) {
    parameter.master =
        parameter.alias ? parameters_.front().master : at::empty(parameter.value.sizes(), options_.dtype(at::kFloat));
  }
}

void LlamaSlice::round_masters() const {
  for (const Parameter& parameter : parameters_) parameter.round_master();
}

void LlamaSlice::allocate_gradients() {
  const auto has_gradient = [](const Parameter& each) {
    return each.gradient_sum.defined() || each.value.grad().defined();
  };
  if (parameters_.empty() || has_gradient(parameters_.front())) return;
  const auto in_buffer = [](const Parameter& each) { return each.trained().nbytes() % buffer_alignment == 0; };
  std::int64_t elements = 0;
  for (const Parameter& each : parameters_) elements += in_buffer(each) ? each.trained().numel() : 0;
  const at::Tensor buffer = at::zeros({elements}, parameters_.front().trained().options());
  std::int64_t begin = 0;
  for (Parameter& parameter : parameters_) {
    const at::Tensor trained = parameter.trained().detach();
    at::Tensor gradient;
    if (in_buffer(parameter)) {
      gradient = buffer.narrow(0, begin, trained.numel()).view(trained.sizes());
      begin += trained.numel();
    } else {
      gradient = at::zeros_like(trained);
    }
    if (parameter.master.defined()) {
      parameter.gradient_sum = gradient;
      add_gradients_into(parameter.value, gradient);
    } else {
      parameter.value.mutable_grad() = gradient;
    }
  }
}

void LlamaSlice::prepare_tables(std::int64_t longest_sequence, std::optional<at::ScalarType> made_in) {
  const bool long_enough = tables_.cos.defined() && tables_.cos.size(0) >= longest_sequence;
  if (!layers_.empty() && !long_enough) {
    // Computed on the CPU for every device, so that the bits do not depend on a device's sine and cosine.
    const RopeTables made =
        make_rope_tables(config_, longest_sequence, made_in.value_or(c10::typeMetaToScalarType(options_.dtype())));
    tables_ = {made.cos.to(options_), made.sin.to(options_)};
  }
}

at::Tensor LlamaSlice::forward_unit(std::int64_t number, const at::Tensor& input) const {
  if (number < units_.first || number >= units_.end) {
    throw std::logic_error("unit " + std::to_string(number) + " is not in this slice");
  }
  return forward(unit_at(config_, number), input);
}

at::Tensor LlamaSlice::forward(Unit unit, const at::Tensor& input) const {
  if (unit.kind == UnitKind::embedding) {
    return at::embedding(embedding_, input, config_.pad_token_id.value_or(-1));
  }
  if (unit.kind == UnitKind::norm) return rms_norm(input, norm_, config_.rms_norm_eps);
  if (unit.kind == UnitKind::head) return linear(input, head_);
  const std::int64_t index = unit.layer - first_layer_;
  if (index < 0 || index >= std::ssize(layers_)) {
    throw std::logic_error("layer " + std::to_string(unit.layer) + " is not in this slice");
  }
  const DecoderLayer& layer = layers_[static_cast<std::size_t>(index)];
  if (unit.kind == UnitKind::mlp) return mlp_half(input, layer, config_);
  if (!tables_.cos.defined() || tables_.cos.size(0) < input.size(1)) {
    throw std::logic_error("the RoPE tables are not prepared for rows of " + std::to_string(input.size(1)) + " tokens");
  }
  const RopeTables tables = first_positions(tables_, input.size(1));
  return unit.kind == UnitKind::attention ? attention_half(input, layer, config_, tables)
                                          : decoder_layer(input, layer, config_, tables);
}

}  // namespace plumbline
