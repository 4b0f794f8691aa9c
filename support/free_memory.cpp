// SPDX-License-Identifier: BSD-3-Clause
#include "support/free_memory.hpp"

#include <algorithm>
#include <fstream>
#include <limits>
#include <optional>
#include <sstream>
#include <string>

#include "support/machine_memory.hpp"

namespace plumbline {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t unlimited = std::numeric_limits<std::int64_t>::max();

/// nullopt for "max" or a missing file.
std::optional<std::int64_t> only_number(const fs::path& file) {
  std::int64_t number = 0;
  std::ifstream in(file);
  return in >> number ? std::optional(number) : std::nullopt;
}

struct GroupFiles {
  const char* limit;
  const char* taken;
  const char* file_cache;  ///< a key of memory.stat
};
constexpr GroupFiles version_1{"memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"};
constexpr GroupFiles version_2{"memory.max", "memory.current", "inactive_file"};

std::int64_t room_in(const fs::path& group, const GroupFiles& files) {
  const auto limit = only_number(group / files.limit), taken = only_number(group / files.taken);
  if (!limit || !taken) return unlimited;
  const std::int64_t cache = number_behind(group / "memory.stat", files.file_cache).value_or(0);
  return std::max<std::int64_t>(0, *limit - std::max<std::int64_t>(0, *taken - cache));
}

/// Minimum over a group and all its ancestors.
std::int64_t room_within(const fs::path& mounted, fs::path group, const GroupFiles& files) {
  std::int64_t room = room_in(mounted, files);
  for (; group.has_relative_path(); group = group.parent_path())
    room = std::min(room, room_in(mounted / group.relative_path(), files));
  return room;
}

std::int64_t room_of_groups(const fs::path& root) {
  std::int64_t room = unlimited;
  std::ifstream lines(root / "proc/self/cgroup");  // "<number>:<controllers>:<path>", none named in version 2
  for (std::string line; std::getline(lines, line);) {
    const auto first = line.find(':'), second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    const std::string controllers = "," + line.substr(first + 1, second - first - 1) + ",",
                      path = line.substr(second + 1);
    const fs::path mounted = root / "sys/fs/cgroup";
    if (controllers == ",,") room = std::min(room, room_within(mounted, path, version_2));
    if (controllers.find(",memory,") != std::string::npos)
      room = std::min(room, room_within(mounted / "memory", path, version_1));
  }
  return room;
}

}  // namespace

std::int64_t free_memory(const fs::path& root) {
  constexpr std::int64_t kibibyte = 1024;
  const auto available = number_behind(root / "proc/meminfo", "MemAvailable:");
  const std::int64_t machine = available ? product_of_sizes({*available, kibibyte}) : unlimited;
  return std::min({machine, room_of_groups(root), memory_limit()});
}

std::optional<std::int64_t> number_behind(const fs::path& file, const std::string& word) {
  std::ifstream in(file);
  for (std::string line; std::getline(in, line);) {
    std::istringstream words(line);
    std::string first;
    std::int64_t number = 0;
    if (words >> first >> number && first == word) return number;
  }
  return std::nullopt;
}

}  // namespace plumbline
