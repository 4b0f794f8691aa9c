// SPDX-License-Identifier: BSD-3-Clause
#include "support/machine_memory.hpp"

#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <fstream>
#include <limits>
#include <sstream>

#include "support/error.hpp"

namespace plumbline {
namespace fs = std::filesystem;
namespace {

constexpr std::int64_t beyond = std::numeric_limits<std::int64_t>::max();

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
  if (!limit || !taken) return beyond;
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
  std::int64_t room = beyond;
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

std::int64_t memory_limit() {
  std::int64_t bytes = product_of_sizes({::sysconf(_SC_PHYS_PAGES), ::sysconf(_SC_PAGE_SIZE)});
  for (const char* file : {"/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"}) {
    bytes = std::min(bytes, only_number(file).value_or(beyond));
  }
  rlimit address_space{};
  if (::getrlimit(RLIMIT_AS, &address_space) == 0 && address_space.rlim_cur < static_cast<rlim_t>(bytes)) {
    bytes = static_cast<std::int64_t>(address_space.rlim_cur);
  }
  return bytes;
}

std::int64_t free_memory(const fs::path& root) {
  constexpr std::int64_t kibibyte = 1024;
  const auto available = number_behind(root / "proc/meminfo", "MemAvailable:");
  const std::int64_t machine = available ? product_of_sizes({*available, kibibyte}) : beyond;
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

std::string bytes_text(std::int64_t bytes) {
  constexpr std::array units{"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  double value = static_cast<double>(bytes);
  if (std::fabs(value) < 1024) return fmt::format("{} B", bytes);
  std::size_t unit = 0;
  for (value /= 1024; std::fabs(value) >= 1024 && unit + 1 < units.size(); ++unit) value /= 1024;
  const int decimals = std::fabs(value) < 10 ? 2 : std::fabs(value) < 100 ? 1 : 0;
  return fmt::format("{:.{}f} {}", value, decimals, units[unit]);
}

void require_memory(std::int64_t bytes, const std::string& what) {
  if (bytes <= memory_limit()) return;
  throw SystemError(fmt::format("{} needs {} of memory, this machine has {}; ask for less, or use a machine with more",
                                what, bytes_text(bytes), bytes_text(memory_limit())));
}

std::int64_t sum_of_sizes(std::initializer_list<std::int64_t> sizes) {
  std::int64_t sum = 0;
  for (const std::int64_t size : sizes) {
    if (__builtin_add_overflow(sum, size, &sum)) return beyond;
  }
  return sum;
}

std::int64_t product_of_sizes(std::initializer_list<std::int64_t> sizes) {
  std::int64_t product = 1;
  bool too_large = false;
  for (const std::int64_t size : sizes) {
    if (size == 0) return 0;
    too_large = too_large || __builtin_mul_overflow(product, size, &product);
  }
  return too_large ? beyond : product;
}

}  // namespace plumbline
