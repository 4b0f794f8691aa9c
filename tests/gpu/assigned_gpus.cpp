#include "tests/gpu/assigned_gpus.hpp"

#include <cstdlib>
#include <sstream>
#include <vector>

#include "support/error.hpp"
#include "training/gpu/gpu_capabilities.hpp"

namespace plumbline::testing {
namespace {

std::string variable(const std::string& name) {
  const char* value = std::getenv(name.c_str());
  return value == nullptr ? "" : value;
}

std::vector<std::string> split(const std::string& text, char separator) {
  std::vector<std::string> parts;
  std::istringstream in(text);
  for (std::string part; std::getline(in, part, separator);) parts.push_back(part);
  return parts;
}

}  // namespace

void take_assigned_gpus() {
  const std::string groups = variable("CTEST_RESOURCE_GROUP_COUNT");
  if (groups.empty()) return;
  const std::vector<std::string> visible = split(variable("CUDA_VISIBLE_DEVICES"), ',');
  std::string chosen;
  for (int group = 0; group < std::stoi(groups); ++group) {
    // "id:3,slots:1;id:5,slots:1"
    for (const std::string& one : split(variable("CTEST_RESOURCE_GROUP_" + std::to_string(group) + "_GPUS"), ';')) {
      const std::string id = one.substr(3, one.find(',') - 3);
      const auto number = static_cast<std::size_t>(std::stoul(id));
      // A scheduler's own choice stands: the number counts within it.
      chosen += (chosen.empty() ? "" : ",") + (number < visible.size() ? visible[number] : id);
    }
  }
  setenv("CUDA_VISIBLE_DEVICES", chosen.c_str(), 1);
}

std::string why_not_on_gpus(int needed) {
  const Json found = gpu_capabilities();
  if (!found.value("built", false)) return "this is a CPU build";
  if (!found.value("usable", false)) return found.at("why_not").get<std::string>();
  const auto count = static_cast<int>(found.at("devices").size());
  if (count >= needed) return "";
  return "it needs " + std::to_string(needed) + " GPUs, this process sees " + std::to_string(count);
}

}  // namespace plumbline::testing
