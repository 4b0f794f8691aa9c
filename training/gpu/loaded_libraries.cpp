// SPDX-License-Identifier: BSD-3-Clause
#include "training/gpu/loaded_libraries.hpp"

#include <link.h>

#include <algorithm>
#include <filesystem>

namespace plumbline {

std::vector<std::string> loaded_libraries(const std::string& beginning) {
  std::vector<std::string> paths;
  const auto note = [](dl_phdr_info* info, std::size_t, void* data) {
    static_cast<std::vector<std::string>*>(data)->emplace_back(info->dlpi_name);
    return 0;
  };
  dl_iterate_phdr(note, &paths);
  std::erase_if(paths, [&](const std::string& path) {
    return !std::filesystem::path(path).filename().string().starts_with(beginning);
  });
  for (std::string& path : paths) {
    std::error_code error;
    const auto same = std::filesystem::canonical(path, error);
    if (!error) path = same.string();
  }
  std::vector<std::string> once;
  for (const std::string& path : paths) {
    if (std::ranges::find(once, path) == once.end()) once.push_back(path);
  }
  return once;
}

}  // namespace plumbline
