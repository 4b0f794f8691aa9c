// SPDX-License-Identifier: BSD-3-Clause
// The files that a sweep is made from, and that must stay as they are while it runs.
#pragma once

#include <filesystem>
#include <map>
#include <set>
#include <string>

namespace plumbline {

class SweepInputs {
 public:
  /// file_hash, read at the first time alone: "missing" where it cannot be read.
  const std::string& hash_of(const std::filesystem::path& file);
  /// The same, of one that must stay so from now on.
  const std::string& held_hash_of(const std::filesystem::path& file);
  /// Throws SystemError naming the first of those that holds something else than it did, or is gone. Of what has the
  /// same size, time of change and inode nothing is read. Any thread may ask.
  void require_unchanged() const;

 private:
  struct Known {
    std::set<std::string> stamp;
    std::string hash;
    bool held = false;
  };
  Known& known(const std::filesystem::path& file);
  std::map<std::filesystem::path, Known> known_;
};

}  // namespace plumbline
