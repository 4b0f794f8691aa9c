// SPDX-License-Identifier: BSD-3-Clause
#include "harness/sweep/model_config.hpp"

#include <cstdint>
#include <map>
#include <mutex>

#include "harness/judge/request/request.hpp"

namespace plumbline {
namespace {

namespace fs = std::filesystem;

struct Known {
  fs::file_time_type written;
  std::uintmax_t bytes = 0;
  std::shared_ptr<const ModelConfig> config;
};

}  // namespace

std::shared_ptr<const ModelConfig> model_config(const fs::path& path) {
  static std::mutex mutex;
  static std::map<fs::path, Known> known;
  std::error_code missing;
  Known now{fs::last_write_time(path, missing), fs::file_size(path, missing), nullptr};
  const std::lock_guard lock(mutex);
  const fs::path key = fs::absolute(path).lexically_normal();
  Known& kept = known[key];
  if (kept.config && kept.written == now.written && kept.bytes == now.bytes) return kept.config;
  Json json = read_json(path);
  std::string digest = model_digest(json);
  now.config = std::make_shared<const ModelConfig>(ModelConfig{std::move(json), std::move(digest)});
  kept = now;
  return kept.config;
}

}  // namespace plumbline
