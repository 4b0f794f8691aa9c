// SPDX-License-Identifier: BSD-3-Clause
#include "harness/baseline/request_keys.hpp"

#include <set>

#include "harness/baseline/run_identity.hpp"
#include "support/hash.hpp"
#include "support/json_text.hpp"

namespace plumbline {
namespace {

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
