// SPDX-License-Identifier: BSD-3-Clause
// The RoPE keys of a config.json, in the older and newer spelling.
#pragma once

#include <optional>

#include "model/config.hpp"
#include "model/config_reader.hpp"

namespace plumbline {

struct RopeConfig {
  double theta = 0;
  std::optional<Llama3RopeScaling> scaling;
};

/// Reads `rope_parameters` {rope_theta, rope_type, ...} (transformers 5) or `rope_theta` with `rope_scaling` {rope_type
/// or type, ...}. Throws InputError if the two disagree or the type is neither "default" nor "llama3".
RopeConfig read_rope(const ConfigReader& config, std::int64_t max_position_embeddings);

}  // namespace plumbline
