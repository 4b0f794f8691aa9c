// SPDX-License-Identifier: BSD-3-Clause
#include "harness/baseline/run_identity.hpp"

#include <filesystem>
#include <initializer_list>
#include <set>

#include "support/hash.hpp"
#include "support/json_text.hpp"

namespace plumbline {
namespace {

/// Empty if the key is missing: files written by others may have any content.
Json group_of(const Json& environment, const char* name) {
  return environment.contains(name) && environment[name].is_object() ? environment[name] : Json::object();
}

constexpr const char* absent = "absent";
constexpr std::size_t longest_value = 32;
constexpr std::size_t digest_digits = 12;

/// Descends into objects; lists are values.
void flatten(const Json& value, const std::string& key, RequestKeys& keys) {
  if (value.is_object() && !value.empty()) {
    for (const auto& [name, inner] : value.items()) flatten(inner, key.empty() ? name : key + "/" + name, keys);
    return;
  }
  const std::string text = value.is_string() ? value.get<std::string>() : json_text(value);
  keys[key] = text.size() <= longest_value ? text : "digest " + hash_hex(text).substr(0, digest_digits);
}

}  // namespace

Json without_places(Json request) {
  if (request.contains("data") && request["data"].is_object() && request["data"].contains("files"))
    for (Json& file : request["data"]["files"])
      file["path"] = std::filesystem::path(file.value("path", std::string())).filename().string();
  // Defaults of keys that older requests lacked.
  const auto drop = [](Json& json, const char* key, const Json& unsaid) {
    if (json.is_object() && json.contains(key) && json[key] == unsaid) json.erase(key);
  };
  drop(request, "first_step", 0);
  drop(request, "threads", 1);
  drop(request, "recompute", "none");
  drop(request, "evaluation", nullptr);
  if (request.contains("optimizer")) drop(request["optimizer"], "decay", "all");
  return request;
}

std::string asked_digest(Json request) {
  return request.is_object() ? hash_hex(json_text(without_places(std::move(request)))) : "";
}

Json code_path_of(const Json& environment) {
  Json path = Json::object();
  const auto take = [&](const char* group, std::initializer_list<const char*> keys) {
    const Json found = group_of(environment, group);
    for (const char* key : keys) path[key] = found.value(key, Json());
  };
  path["device"] = environment.value("device", Json());
  take("machine",
       {"cpu_vendor", "cpu_family", "cpu_model_number", "aten_capability", "mkl_version", "bf16_instructions", "gpus"});
  take("versions", {"libtorch", "cuda_runtime", "cuda_driver"});
  take("environment", {"attention", "compute_threads", "MKL_ENABLE_INSTRUCTIONS", "MKL_CBWR", "ATEN_CPU_CAPABILITY",
                       "ONEDNN_MAX_CPU_ISA", "tf32_cublas", "tf32_cudnn"});
  return path;
}

std::string commit_of(const Json& environment) {
  const Json versions = group_of(environment, "versions");
  return versions.contains("commit") && versions["commit"].is_string() ? versions["commit"].get<std::string>() : "";
}

RequestKeys request_keys(Json request) {
  RequestKeys keys;
  if (request.is_object()) flatten(without_places(std::move(request)), "", keys);
  return keys;
}

RequestKeys beyond(const RequestKeys& base, const RequestKeys& keys) {
  RequestKeys difference;
  for (const auto& [key, value] : keys)
    if (const auto found = base.find(key); found == base.end() || found->second != value) difference[key] = value;
  for (const auto& [key, value] : base)
    if (!keys.contains(key)) difference[key] = absent;
  return difference;
}

RequestKeys with(RequestKeys base, const RequestKeys& beyond) {
  for (const auto& [key, value] : beyond) {
    if (value == absent)
      base.erase(key);
    else
      base[key] = value;
  }
  return base;
}

std::vector<std::string> request_differences(const RequestKeys& before, const RequestKeys& now) {
  std::set<std::string> keys;
  for (const RequestKeys* each : {&before, &now})
    for (const auto& [key, value] : *each) keys.insert(key);
  std::vector<std::string> words;
  const auto value = [](const RequestKeys& of, const std::string& key) {
    const auto found = of.find(key);
    return found == of.end() ? std::string(absent) : found->second;
  };
  for (const std::string& key : keys) {
    const std::string old_value = value(before, key), new_value = value(now, key);
    if (old_value != new_value) words.push_back(key + " " + old_value + " before, " + new_value + " now");
  }
  return words;
}

}  // namespace plumbline
