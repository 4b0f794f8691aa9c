// SPDX-License-Identifier: BSD-3-Clause
#include "tests/model/models.hpp"

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/core/Reduction.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/cross_entropy_loss.h>
#include <ATen/ops/empty_like.h>

#include "model/initialize.hpp"
#include "model/parameter.hpp"
#include "model/unit.hpp"
#include "support/hash.hpp"
#include "tests/temporary_folder.hpp"

namespace plumbline::testing {

Json small_config_json() {
  return Json::parse(R"({
    "architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_act": "silu", "vocab_size": 96, "hidden_size": 32,
    "intermediate_size": 88, "num_hidden_layers": 3, "num_attention_heads": 4, "num_key_value_heads": 2,
    "max_position_embeddings": 64, "rms_norm_eps": 1e-05, "initializer_range": 0.1, "tie_word_embeddings": false,
    "rope_parameters": {"rope_theta": 10000.0, "rope_type": "default"}})");
}

LlamaConfig small_config(const Json& changes) {
  Json json = small_config_json();
  json.merge_patch(changes);
  const TemporaryFolder folder;
  return load_config(folder.file("config.json", json.dump()));
}

UnitRange whole(const LlamaConfig& config) {
  return {0, config.layers + 3};
}

LlamaSlice make_slice(const LlamaConfig& config, UnitRange units, at::ScalarType dtype, std::int64_t longest) {
  LlamaSlice slice(config, units, dtype);
  initialize(slice, 7);
  const at::NoGradGuard no_grad;
  for (Parameter& parameter : slice.parameters()) {
    if (parameter.value.dim() == 1) {
      const at::Tensor noise = at::empty_like(parameter.value, at::kFloat);
      parameter.value.add_(noise.normal_(0.0, 0.1, at::detail::createCPUGenerator(hash64(parameter.name))));
    }
  }
  slice.allocate_gradients();
  slice.prepare_tables(longest);
  return slice;
}

at::Tensor value_of(const LlamaSlice& slice, const std::string& name) {
  for (const Parameter& parameter : slice.parameters()) {
    if (parameter.name == name) {
      return parameter.value;
    }
  }
  ADD_FAILURE() << "the slice has no parameter " << name;
  return {};
}

at::Tensor forward(const LlamaSlice& slice, const at::Tensor& input) {
  at::Tensor hidden = input;
  for (std::int64_t unit = slice.units().first; unit < slice.units().end; ++unit) {
    hidden = slice.forward_unit(unit, hidden);
  }
  return hidden;
}

at::Tensor make_ids(const LlamaConfig& config, std::int64_t batch, std::int64_t sequence) {
  const at::Tensor numbers = at::arange(batch * sequence, at::kLong);
  return numbers.mul(numbers).mul(7).add(numbers.mul(5)).add(3).remainder(config.vocab_size).view({batch, sequence});
}

at::Tensor mean_loss(const at::Tensor& logits, const at::Tensor& labels) {
  return at::cross_entropy_loss(logits.view({-1, logits.size(-1)}), labels.reshape({-1}), {}, at::Reduction::Mean,
                                -100);
}

}  // namespace plumbline::testing
