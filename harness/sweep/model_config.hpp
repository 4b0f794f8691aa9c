// SPDX-License-Identifier: BSD-3-Clause
// A model's config.json, which a sweep asks for at each cell and each run: one may have megabytes.
#pragma once

#include <filesystem>
#include <memory>
#include <string>

#include "support/json.hpp"

namespace plumbline {

struct ModelConfig {
  Json json;
  std::string digest;  ///< judging's, of a request
};

/// Read anew only where the file is another one than at the last call (size, time). Any thread may ask. Throws
/// InputError: it is missing, or not JSON.
std::shared_ptr<const ModelConfig> model_config(const std::filesystem::path& path);

}  // namespace plumbline
