// SPDX-License-Identifier: BSD-3-Clause
// Counts the processes of one program that a launch has started.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <set>
#include <string>

#include "harness/launch/process_tree.hpp"

namespace plumbline {

class StartedProcesses {
 public:
  /// `program`: the path used to start it.
  StartedProcesses(std::string program, const ProcessTree& tree) : program_(std::move(program)), tree_(tree) {}

  /// Inspects every process of the tree and counts new ones.
  void glance();
  std::int64_t count() const { return static_cast<std::int64_t>(seen_.size()); }

 private:
  std::string program_;
  const ProcessTree& tree_;
  std::set<pid_t> seen_;
  std::set<pid_t> below_;  ///< descendants of counted ones
};

}  // namespace plumbline
