// SPDX-License-Identifier: BSD-3-Clause
#include "harness/judge/settings/differences.hpp"

#include <fmt/format.h>

#include "support/json_text.hpp"

namespace plumbline::judging {
namespace {

std::string named(const std::string& text) {
  return text.empty() ? "absent" : text;
}

}  // namespace

void Differences::demand_equal(const std::string& what, const std::string& reference, const std::string& candidate) {
  if (reference == candidate) return;
  words.push_back(fmt::format("{} is {} in {} and {} in {}", what, named(reference), one_, named(candidate), other_));
}

void Differences::demand_equal(const std::string& what, const Json& reference, const Json& candidate) {
  if (!same_content(reference, candidate)) demand_equal(what, json_text(reference), json_text(candidate));
}

Json value_or(const Json& object, const std::string& key, const Json& fallback) {
  if (!object.is_object()) return fallback;
  const auto found = object.find(key);
  return found == object.end() || found->is_null() ? fallback : *found;
}

std::set<std::string> keys_of(const Json& one, const Json& other) {
  std::set<std::string> keys;
  for (const Json* config : {&one, &other}) {
    for (const auto& [key, value] : config->items()) keys.insert(key);
  }
  return keys;
}

}  // namespace plumbline::judging
