// PATH as a test wants it.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <string>

namespace plumbline::testing {

/// While it lives, programs are looked for in these folders alone.
class PathOf {
 public:
  explicit PathOf(const std::string& folders) : before_(std::getenv("PATH")) { ::setenv("PATH", folders.c_str(), 1); }
  ~PathOf() { ::setenv("PATH", before_.c_str(), 1); }
  PathOf(const PathOf&) = delete;
  PathOf& operator=(const PathOf&) = delete;

 private:
  std::string before_;
};

}  // namespace plumbline::testing
