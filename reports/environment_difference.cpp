#include "reports/environment_difference.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <set>

#include "support/json_text.hpp"

namespace plumbline {
namespace {

/// Of a program that sends messages alone.
constexpr std::array of_pipelines = {"versions/mpi", "versions/nccl"};

std::map<std::string, std::string> told_of_environment(const Manifest& manifest) {
  std::map<std::string, std::string> values{{"device", manifest.device}};
  for (const char* part : {"versions", "machine", "environment"}) {
    const auto object = manifest.json.find(part);
    if (object == manifest.json.end() || !object->is_object()) continue;
    for (const auto& [key, value] : object->items()) {
      values[std::string(part) + "/" + key] = value.is_string() ? value.get<std::string>() : json_text(value);
    }
  }
  return values;
}

}  // namespace

std::vector<EnvironmentValue> environment_difference(const Manifest& reference, const Manifest& candidate) {
  const auto one = told_of_environment(reference), other = told_of_environment(candidate);
  std::set<std::string> keys;
  for (const auto& [key, value] : one) keys.insert(key);
  for (const auto& [key, value] : other) keys.insert(key);
  std::vector<EnvironmentValue> differences;
  for (const std::string& key : keys) {
    if (std::ranges::find(of_pipelines, key) != of_pipelines.end()) continue;
    const auto mine = one.find(key), theirs = other.find(key);
    EnvironmentValue value{key, mine == one.end() ? "-" : mine->second, theirs == other.end() ? "-" : theirs->second};
    if (value.reference != value.candidate) differences.push_back(std::move(value));
  }
  return differences;
}

}  // namespace plumbline
