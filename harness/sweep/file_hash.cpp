// SPDX-License-Identifier: BSD-3-Clause
#include "harness/sweep/file_hash.hpp"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <vector>

#include "support/files.hpp"
#include "support/hash.hpp"
#include "support/text.hpp"

namespace plumbline {
namespace {

namespace fs = std::filesystem;

std::string hash_of_folder(const fs::path& folder) {
  std::vector<std::string> files;
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(folder, ignored)) {
    if (!entry.is_directory()) files.push_back(entry.path().filename().string() + " " + file_hash(entry.path()) + "\n");
  }
  std::ranges::sort(files);
  return hash_hex(join(files, ""));
}

}  // namespace

std::string file_hash(const fs::path& path) {
  constexpr std::uintmax_t largest_read = 64 << 20;
  std::error_code error;
  if (fs::is_directory(path, error)) return hash_of_folder(path);
  const auto size = fs::file_size(path, error);
  if (error) return "missing";
  if (size <= largest_read) return hash_hex(read_file(path));
  const auto changed = fs::last_write_time(path, error);
  // libc++ represents file times in 128 bits, which std::to_string does not support.
  const auto nanoseconds = std::chrono::duration_cast<std::chrono::nanoseconds>(changed.time_since_epoch());
  return std::to_string(size) + " " + std::to_string(nanoseconds.count());
}

}  // namespace plumbline
