// SPDX-License-Identifier: BSD-3-Clause
// Runs a program as a user does, and returns its exit code and output.
#pragma once

#include <sys/wait.h>

#include <cstdlib>
#include <filesystem>
#include <string>

#include "support/files.hpp"

namespace plumbline::testing {

struct Ended {
  int code = -1;       ///< -1: a signal ended it
  std::string output;  ///< stdout and stderr together
};

/// Runs `command` in a shell; `folder` takes its output meanwhile.
inline Ended end_of(const std::string& command, const std::filesystem::path& folder) {
  const std::string out = (folder / "said.txt").string();
  const int status = std::system((command + " > " + out + " 2>&1 < /dev/null").c_str());
  Ended ended{WIFEXITED(status) ? WEXITSTATUS(status) : -1, read_file(out)};
  std::erase(ended.output, '\0');  // Open MPI 5 writes one after its notice of an abort; regular expressions end there
  return ended;
}

}  // namespace plumbline::testing
