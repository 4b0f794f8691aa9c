// SPDX-License-Identifier: BSD-3-Clause
#include "harness/sweep/sweep_inputs.hpp"

#include <sys/stat.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <vector>

#include "support/error.hpp"
#include "support/files.hpp"
#include "support/hash.hpp"
#include "support/text.hpp"

namespace plumbline {
namespace {

namespace fs = std::filesystem;

std::string stamp_of_one(const fs::path& file) {
  struct stat status {};
  if (::stat(file.c_str(), &status) != 0) return "";
  std::string stamp;
  for (const auto number : {static_cast<std::int64_t>(status.st_dev), static_cast<std::int64_t>(status.st_ino),
                            static_cast<std::int64_t>(status.st_size), static_cast<std::int64_t>(status.st_mtim.tv_sec),
                            static_cast<std::int64_t>(status.st_mtim.tv_nsec)})
    stamp += std::to_string(number) + " ";
  return stamp;
}

std::string hash_of_folder(const fs::path& folder) {
  std::vector<std::string> files;
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(folder, ignored)) {
    if (!entry.is_directory()) files.push_back(entry.path().filename().string() + " " + file_hash(entry.path()) + "\n");
  }
  std::ranges::sort(files);
  return hash_hex(join(files, ""));
}

/// For a folder, the stamps of its files: writing to a file does not change the folder's own.
std::set<std::string> stamp_of(const fs::path& file) {
  std::set<std::string> stamp = {stamp_of_one(file)};
  std::error_code no_folder;
  for (const auto& entry : fs::directory_iterator(file, no_folder)) stamp.insert(stamp_of_one(entry.path()));
  return stamp;
}

}  // namespace

std::string file_hash(const fs::path& path) {
  constexpr std::size_t largest_read = 64 << 20;
  std::error_code error;
  if (fs::is_directory(path, error)) return hash_of_folder(path);
  const auto size = fs::file_size(path, error);
  if (error) return "missing";
  if (size <= largest_read) return hash_hex(read_file(path, largest_read));
  const auto changed = fs::last_write_time(path, error);
  // libc++ represents file times in 128 bits, which std::to_string does not support.
  const auto nanoseconds = std::chrono::duration_cast<std::chrono::nanoseconds>(changed.time_since_epoch());
  return std::to_string(size) + " " + std::to_string(nanoseconds.count());
}

SweepInputs::Known& SweepInputs::known(const fs::path& file) {
  const auto [found, is_new] = known_.try_emplace(file);
  if (is_new) {
    found->second.stamp = stamp_of(file);  // before reading, so that a concurrent change is read again
    found->second.hash = file_hash(file);
  }
  return found->second;
}

const std::string& SweepInputs::hash_of(const fs::path& file) {
  return known(file).hash;
}

const std::string& SweepInputs::fixed_hash_of(const fs::path& file) {
  Known& input = known(file);
  input.fixed = true;
  return input.hash;
}

void SweepInputs::require_unchanged() const {
  for (const auto& [file, input] : known_) {
    if (!input.fixed || stamp_of(file) == input.stamp || file_hash(file) == input.hash) continue;
    throw SystemError(file.string() +
                      " changed after the sweep began: earlier and later runs would use different files. " +
                      "Restore it, or continue with the new one");
  }
}

}  // namespace plumbline
