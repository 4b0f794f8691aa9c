// SPDX-License-Identifier: BSD-3-Clause
// A program run as a user does, and what it said.
#pragma once

#include <sys/wait.h>

#include <cstdlib>
#include <filesystem>
#include <string>

#include "support/files.hpp"

namespace plumbline::testing {

struct Ended {
  int code = -1;     ///< -1: it was ended by a signal
  std::string said;  ///< on stdout and stderr together
};

/// `command` goes to the shell; `folder` is where its output lies meanwhile.
inline Ended end_of(const std::string& command, const std::filesystem::path& folder) {
  const std::string out = (folder / "said.txt").string();
  const int status = std::system((command + " > " + out + " 2>&1 < /dev/null").c_str());
  Ended ended{WIFEXITED(status) ? WEXITSTATUS(status) : -1, read_file(out)};
  std::erase(ended.said, '\0');  // Open MPI 5 writes one behind its notice of an abort; regular expressions end there
  return ended;
}

}  // namespace plumbline::testing
