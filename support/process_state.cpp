// SPDX-License-Identifier: BSD-3-Clause
#include "support/process_state.hpp"

#include <cerrno>
#include <cstring>
#include <sstream>
#include <string>

#include "support/error.hpp"

namespace plumbline {

void fail_without_proc(int error) {
  throw SystemError(std::string("/proc cannot be read: ") + std::strerror(error) +
                    "; without it the running processes are unknown. Raise the limit (ulimit -n), or free memory");
}

std::ifstream process_file(pid_t pid, const char* name) {
  errno = 0;
  std::ifstream file("/proc/" + std::to_string(pid) + "/" + name, std::ios::binary);
  if (!file && (errno == EMFILE || errno == ENFILE || errno == ENOMEM)) fail_without_proc(errno);
  return file;
}

std::optional<ProcessState> process_state(pid_t pid) {
  std::ifstream stat = process_file(pid, "stat");
  std::string line;
  std::getline(stat, line);
  // "pid (name) state parent ...": the name may contain blanks and brackets, so search for the last bracket.
  const auto bracket = line.rfind(')');
  if (bracket == std::string::npos) return std::nullopt;
  std::istringstream rest(line.substr(bracket + 1));
  ProcessState process;
  process.pid = pid;
  if (!(rest >> process.state >> process.parent)) return std::nullopt;
  return process;
}

}  // namespace plumbline
