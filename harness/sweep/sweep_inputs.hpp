// SPDX-License-Identifier: BSD-3-Clause
// The input files of a sweep, which must not change while it runs.
#pragma once

#include <filesystem>
#include <map>
#include <set>
#include <string>

namespace plumbline {

/// Hash of a file's bytes; above 64 MiB, of its size and modification time; for a folder, of its files (a model in
/// several). "missing" if it cannot be read.
std::string file_hash(const std::filesystem::path& path);

class SweepInputs {
 public:
  /// Cached file_hash; "missing" if it cannot be read.
  const std::string& hash_of(const std::filesystem::path& file);
  /// The same; require_unchanged then refuses a change of the file.
  const std::string& fixed_hash_of(const std::filesystem::path& file);
  /// Throws SystemError naming the first such file that has changed or is gone. Files with the same size, modification
  /// time and inode are not read. Thread-safe.
  void require_unchanged() const;

 private:
  struct Known {
    std::set<std::string> stamp;
    std::string hash;
    bool fixed = false;
  };
  Known& known(const std::filesystem::path& file);
  std::map<std::filesystem::path, Known> known_;
};

}  // namespace plumbline
