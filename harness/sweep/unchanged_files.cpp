#include "harness/sweep/unchanged_files.hpp"

#include <sys/stat.h>

#include <cstdint>

#include "harness/sweep/file_hash.hpp"
#include "support/error.hpp"

namespace plumbline {
namespace {

std::string stamp_of(const std::filesystem::path& file) {
  struct stat status {};
  if (::stat(file.c_str(), &status) != 0) return "";
  std::string stamp;
  for (const auto number : {static_cast<std::int64_t>(status.st_dev), static_cast<std::int64_t>(status.st_ino),
                            static_cast<std::int64_t>(status.st_size), static_cast<std::int64_t>(status.st_mtim.tv_sec),
                            static_cast<std::int64_t>(status.st_mtim.tv_nsec)})
    stamp += std::to_string(number) + " ";
  return stamp;
}

}  // namespace

void UnchangedFiles::add(const std::filesystem::path& file) {
  const std::lock_guard lock(mutex_);
  if (known_.contains(file)) return;
  Known known;
  known.stamp = stamp_of(file);  // before it is read: what changes meanwhile is read again
  known.hash = file_hash(file);
  known_.emplace(file, std::move(known));
}

void UnchangedFiles::require() const {
  const std::lock_guard lock(mutex_);
  for (const auto& [file, known] : known_) {
    if (stamp_of(file) == known.stamp || file_hash(file) == known.hash) continue;
    throw SystemError(file.string() +
                      " is no longer what it was when the sweep began: runs before and after are of two " +
                      "programs. Put it back, or begin anew with another --out");
  }
}

}  // namespace plumbline
