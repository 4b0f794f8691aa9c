// SPDX-License-Identifier: BSD-3-Clause
// Names and shapes of all parameters of a Llama.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "model/config.hpp"

namespace plumbline {

struct ParameterShape {
  std::string name;  ///< Hugging Face name, "model.layers.0.self_attn.q_proj.weight"
  std::string unit;  ///< a name of unit_names()
  std::vector<std::int64_t> shape;
};

/// All parameters in canonical order, the order of transformers' named_parameters(). Always includes "lm_head.weight",
/// even if tied.
std::vector<ParameterShape> parameter_shapes(const LlamaConfig& config);

}  // namespace plumbline
