#include "model/llama_slice.hpp"

#include <ATen/ops/embedding.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/zeros_like.h>

#include <stdexcept>
#include <utility>

#include "model/decoder_layer.hpp"
#include "model/linear.hpp"
#include "model/rms_norm.hpp"
#include "model/rope.hpp"
#include "model/tied_names.hpp"

namespace plumbline {
namespace {

/// The tensor of this name; undefined where the slice has none (a bias that the config leaves out).
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

std::vector<Parameter> make_parameters(const LlamaConfig& config, UnitRange units, const at::TensorOptions& made_as) {
  const std::vector<std::string> names = unit_names(config);
  std::vector<Parameter> parameters;
  std::int64_t unit = 0;
  for (const ParameterShape& shape : parameter_shapes(config)) {
    while (names[static_cast<std::size_t>(unit)] != shape.unit) {
      ++unit;
    }
    if (unit < units.first || unit >= units.end) {
      continue;
    }
    const at::Tensor embedding =
        shape.name == head_weight && config.tied ? find(parameters, embedding_weight) : at::Tensor();
    Parameter parameter{shape.name, shape.unit, {}, embedding.defined()};
    parameter.value = parameter.alias ? embedding.detach() : at::empty(shape.shape, made_as);
    parameter.value.set_requires_grad(true);
    parameters.push_back(std::move(parameter));
  }
  return parameters;
}

}  // namespace

struct LlamaSlice::Units {
  LlamaConfig config;
  UnitRange range;
  at::TensorOptions made_as;  ///< dtype and device
  std::vector<Parameter> parameters;
  at::Tensor embedding;
  std::vector<DecoderLayer> layers;  ///< those held
  std::int64_t first_layer = 0;      ///< number of layers[0] in the model
  at::Tensor norm;
  LinearWeights head;
  RopeTables tables;

  std::int64_t norm_unit() const { return config.layers + 1; }
  std::int64_t head_unit() const { return config.layers + 2; }
};

LlamaSlice::LlamaSlice(const LlamaConfig& config, UnitRange units, at::ScalarType dtype, at::Device device) {
  if (units.first < 0 || units.first > units.end || units.end > config.layers + 3) {
    throw std::logic_error("units [" + std::to_string(units.first) + ", " + std::to_string(units.end) +
                           ") are no part of a model of " + std::to_string(config.layers + 3) + " units");
  }
  if (dtype != at::kFloat && dtype != at::kDouble && dtype != at::kBFloat16) {
    throw std::logic_error("a slice is float32, float64 or bfloat16, not " + std::string(c10::toString(dtype)));
  }
  const at::TensorOptions made_as = at::TensorOptions(dtype).device(device);
  impl_ = std::make_unique<Units>(
      Units{config, units, made_as, make_parameters(config, units, made_as), {}, {}, 0, {}, {}, {}});
  impl_->embedding = find(impl_->parameters, embedding_weight);
  impl_->norm = find(impl_->parameters, "model.norm.weight");
  impl_->head.weight = find(impl_->parameters, head_weight);
  for (std::int64_t unit = units.first; unit < units.end; ++unit) {
    if (unit == 0 || unit >= impl_->norm_unit()) {
      continue;
    }
    if (impl_->layers.empty()) {
      impl_->first_layer = unit - 1;
    }
    impl_->layers.push_back(bind_layer(impl_->parameters, unit - 1));
  }
}

LlamaSlice::~LlamaSlice() = default;
LlamaSlice::LlamaSlice(LlamaSlice&&) noexcept = default;
LlamaSlice& LlamaSlice::operator=(LlamaSlice&&) noexcept = default;

void LlamaSlice::allocate_gradients() {
  for (Parameter& parameter : impl_->parameters) {
    if (!parameter.value.grad().defined()) {
      parameter.value.mutable_grad() = at::zeros_like(parameter.value.detach());
    }
  }
}

void LlamaSlice::prepare_tables(std::int64_t longest_sequence, std::optional<at::ScalarType> made_in) {
  const bool long_enough = impl_->tables.cos.defined() && impl_->tables.cos.size(0) >= longest_sequence;
  if (!impl_->layers.empty() && !long_enough) {
    // The CPU's tables on every device: their bits do not hang on a device's sine and cosine.
    const RopeTables made = make_rope_tables(impl_->config, longest_sequence,
                                             made_in.value_or(c10::typeMetaToScalarType(impl_->made_as.dtype())));
    impl_->tables = {made.cos.to(impl_->made_as), made.sin.to(impl_->made_as)};
  }
}

const LlamaConfig& LlamaSlice::config() const {
  return impl_->config;
}
UnitRange LlamaSlice::units() const {
  return impl_->range;
}
std::vector<Parameter>& LlamaSlice::parameters() & {
  return impl_->parameters;
}
const std::vector<Parameter>& LlamaSlice::parameters() const& {
  return impl_->parameters;
}

at::Tensor LlamaSlice::forward_unit(std::int64_t unit, const at::Tensor& input) const {
  const Units& units = *impl_;
  if (unit < units.range.first || unit >= units.range.end) {
    throw std::logic_error("unit " + std::to_string(unit) + " is not in this slice");
  }
  if (unit == 0) {
    return at::embedding(units.embedding, input, units.config.pad_token_id.value_or(-1));
  }
  if (unit == units.norm_unit()) {
    return rms_norm(input, units.norm, units.config.rms_norm_eps);
  }
  if (unit == units.head_unit()) {
    return linear(input, units.head);
  }
  if (!units.tables.cos.defined() || units.tables.cos.size(0) < input.size(1)) {
    throw std::logic_error("the RoPE tables are not prepared for rows of " + std::to_string(input.size(1)) + " tokens");
  }
  const DecoderLayer& layer = units.layers[static_cast<std::size_t>(unit - 1 - units.first_layer)];
  return decoder_layer(input, layer, units.config, first_positions(units.tables, input.size(1)));
}

at::Tensor LlamaSlice::forward(const at::Tensor& input) const {
  at::Tensor hidden = input;
  for (std::int64_t unit = impl_->range.first; unit < impl_->range.end; ++unit) {
    hidden = forward_unit(unit, hidden);
  }
  return hidden;
}

}  // namespace plumbline
