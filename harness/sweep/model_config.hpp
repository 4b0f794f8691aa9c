// SPDX-License-Identifier: BSD-3-Clause
// Cache of models' config.json, which a sweep needs for each case and run and which may have megabytes.
#pragma once

#include <filesystem>
#include <memory>
#include <string>

#include "support/json.hpp"

namespace plumbline {

struct ModelConfig {
  Json json;
  std::string digest;  ///< the judge's model_digest
};

/// Reads again only if the file has changed (size, time). Thread-safe. Throws InputError if it is missing or no JSON.
std::shared_ptr<const ModelConfig> model_config(const std::filesystem::path& path);

}  // namespace plumbline
