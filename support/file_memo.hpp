// SPDX-License-Identifier: BSD-3-Clause
// A value computed from a file, kept until the file changes: a sweep asks for each of its files once a case.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <system_error>
#include <utility>

namespace plumbline {

/// A file counts as changed if its size or the time of its last change differs. Threads may share one.
template <typename Value>
class FileMemo {
 public:
  /// `make()`, called once for each path and variant until the file changes. If it throws, nothing is kept.
  template <typename Make>
  std::shared_ptr<const Value> of(const std::filesystem::path& path, const std::string& variant, Make make) {
    namespace fs = std::filesystem;
    std::error_code missing;
    Kept now{fs::last_write_time(path, missing), fs::file_size(path, missing), nullptr};
    const std::lock_guard lock(mutex_);
    Kept& kept = all_[{fs::absolute(path).lexically_normal(), variant}];
    if (kept.value && kept.written == now.written && kept.bytes == now.bytes) return kept.value;
    now.value = std::make_shared<const Value>(make());
    kept = now;
    return kept.value;
  }

 private:
  struct Kept {
    std::filesystem::file_time_type written;
    std::uintmax_t bytes = 0;
    std::shared_ptr<const Value> value;
  };

  std::mutex mutex_;
  std::map<std::pair<std::filesystem::path, std::string>, Kept> all_;
};

}  // namespace plumbline
