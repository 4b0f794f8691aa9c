#include "harness/launch/visible_gpus.hpp"

#include <cstdlib>
#include <sstream>

namespace plumbline {

std::optional<std::vector<std::string>> visible_gpus(const std::filesystem::path& devices) {
  std::vector<std::string> visible;
  if (const char* named = std::getenv(visible_gpus_variable)) {
    std::istringstream names(named);
    for (std::string name; std::getline(names, name, ',');) {
      const auto begin = name.find_first_not_of(' ');
      if (begin == std::string::npos || name[begin] == '-') break;
      visible.push_back(name.substr(begin, name.find_last_not_of(' ') - begin + 1));
    }
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

}  // namespace plumbline
