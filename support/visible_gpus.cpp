// SPDX-License-Identifier: BSD-3-Clause
#include "support/visible_gpus.hpp"

#include <algorithm>
#include <cstdlib>
#include <sstream>

#include "support/error.hpp"
#include "support/numbers.hpp"
#include "support/text.hpp"

namespace plumbline {
namespace {

bool is_slice(const std::string& name) {
  return name.starts_with("MIG-");
}

void refuse_hidden_devices(const std::vector<std::string>& visible, const std::string& value) {
  const std::string found = "CUDA_VISIBLE_DEVICES is \"" + value + "\": ";
  for (auto name = visible.begin(); name != visible.end(); ++name) {
    if (std::find(visible.begin(), name, *name) != name)
      throw InputError(found + "it names GPU " + *name + " twice; name each GPU once");
  }
  if (visible.size() > 1 && std::ranges::any_of(visible, is_slice))
    throw InputError(found +
                     "it names a MIG slice and others, and CUDA shows a process only one slice; name one slice, or "
                     "whole GPUs alone");
}

}  // namespace

std::optional<std::vector<std::string>> visible_gpus(const std::filesystem::path& devices) {
  std::vector<std::string> visible;
  if (const char* named = std::getenv(visible_gpus_variable)) {
    std::istringstream names(named);
    for (std::string name; std::getline(names, name, ',');) {
      const auto begin = name.find_first_not_of(' ');
      if (begin == std::string::npos || name[begin] == '-') break;
      visible.push_back(name.substr(begin, name.find_last_not_of(' ') - begin + 1));
    }
    refuse_hidden_devices(visible, named);
    return visible;
  }
  const std::string prefix = "nvidia";
  std::error_code none;
  for (const auto& entry : std::filesystem::directory_iterator(devices, none)) {
    const std::string name = entry.path().filename().string();
    if (name.size() == prefix.size() || !name.starts_with(prefix)) continue;
    if (name.find_first_not_of("0123456789", prefix.size()) != std::string::npos) continue;
    visible.push_back(std::to_string(visible.size()));
  }
  return visible.empty() ? std::nullopt : std::optional(visible);
}

void take_assigned_gpus() {
  const auto visible = visible_gpus();
  constexpr const char* count = "CTEST_RESOURCE_GROUP_COUNT";
  const char* groups = std::getenv(count);
  if (groups == nullptr) return;
  std::vector<std::string> chosen;
  for (std::int64_t group = 0; group < parse_integer(groups).value_or(0); ++group) {
    const char* assigned = std::getenv(("CTEST_RESOURCE_GROUP_" + std::to_string(group) + "_GPUS").c_str());
    std::istringstream units(assigned == nullptr ? "" : assigned);  // "id:3,slots:1;id:5,slots:1"
    for (std::string unit; std::getline(units, unit, ';');) {
      const std::string id = unit.substr(3, unit.find(',') - 3);
      const auto number = static_cast<std::size_t>(parse_integer(id).value_or(0));
      chosen.push_back(visible && number < visible->size() ? visible->at(number) : id);
    }
  }
  if (!chosen.empty()) setenv(visible_gpus_variable, join(chosen, ",").c_str(), 1);
  unsetenv(count);  // the numbers are indices into the previously visible GPUs
}

}  // namespace plumbline
