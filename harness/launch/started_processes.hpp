// SPDX-License-Identifier: BSD-3-Clause
// How many processes of one program a launch has started.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <set>
#include <string>

#include "harness/launch/process_tree.hpp"

namespace plumbline {

class StartedProcesses {
 public:
  /// `program`: the path that it is started by.
  StartedProcesses(std::string program, const ProcessTree& tree) : program_(std::move(program)), tree_(tree) {}

  /// Looks at every process of the tree once, and counts those that were not counted yet.
  void glance();
  std::int64_t count() const { return static_cast<std::int64_t>(seen_.size()); }

 private:
  std::string program_;
  const ProcessTree& tree_;
  std::set<pid_t> seen_;
  std::set<pid_t> below_;  ///< below one that was counted
};

}  // namespace plumbline
