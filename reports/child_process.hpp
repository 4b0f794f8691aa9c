// One program run to its end, with a text on its standard input.
#pragma once

#include <chrono>
#include <string>
#include <vector>

namespace plumbline {

struct ChildResult {
  bool started = false;  ///< false: no such program, or no process to be had
  bool in_time = false;  ///< false: killed at the deadline
  int exit_code = -1;    ///< -1 when a signal ended it
  std::string out, error;
};

/// Runs `command` (found through PATH, no shell between) with LC_ALL=C. Bounded: killed after `deadline`.
ChildResult run_child(const std::vector<std::string>& command, const std::string& input,
                      std::chrono::milliseconds deadline);

}  // namespace plumbline
