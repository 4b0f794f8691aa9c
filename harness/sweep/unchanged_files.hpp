// Programs that must stay as they are while a sweep runs them.
#pragma once

#include <filesystem>
#include <map>
#include <mutex>
#include <string>

namespace plumbline {

/// Any thread may use it.
class UnchangedFiles {
 public:
  /// As it is now. One that is known already stays as it was then.
  void add(const std::filesystem::path& file);
  /// Throws SystemError naming the first that holds something else than it did, or is gone. Of what has the same size,
  /// time of change and inode nothing is read.
  void require() const;

 private:
  struct Known {
    std::string stamp, hash;
  };
  mutable std::mutex mutex_;
  std::map<std::filesystem::path, Known> known_;
};

}  // namespace plumbline
