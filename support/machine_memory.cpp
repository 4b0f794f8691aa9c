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

#include "support/error.hpp"

namespace plumbline {
namespace {

constexpr std::int64_t beyond = std::numeric_limits<std::int64_t>::max();

/// A control group's limit; nullopt for "max" or a missing file.
std::int64_t limit_in(const char* file) {
  std::int64_t bytes = 0;
  return std::ifstream(file) >> bytes && bytes > 0 ? bytes : beyond;
}

}  // namespace

std::int64_t memory_limit() {
  std::int64_t bytes = product_of_sizes({::sysconf(_SC_PHYS_PAGES), ::sysconf(_SC_PAGE_SIZE)});
  for (const char* file : {"/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"}) {
    bytes = std::min(bytes, limit_in(file));
  }
  rlimit address_space{};
  if (::getrlimit(RLIMIT_AS, &address_space) == 0 && address_space.rlim_cur < static_cast<rlim_t>(bytes)) {
    bytes = static_cast<std::int64_t>(address_space.rlim_cur);
  }
  return bytes;
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
