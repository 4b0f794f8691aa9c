// SPDX-License-Identifier: BSD-3-Clause
// Rules about one rank's list: range, rank, duplicates, order, messages, missing actions.
#pragma once

#include "schedule/list_finding.hpp"
#include "schedule/microbatch_set.hpp"
#include "schedule/schedule.hpp"

namespace plumbline {

/// Checks the sizes that later rules use as indices. False if they are invalid.
bool check_sizes(const Schedule& schedule, ListFindings& findings);

class ListRules {
 public:
  ListRules(const Schedule& schedule, ListFindings& findings);

  /// Call with all actions of a rank in order. `compute_only`: messages, REDUCE and STEP are refused, and messages are
  /// not required.
  void check_rank(std::int32_t rank, bool compute_only);
  /// Reports actions in no list. Call after all ranks.
  void check_missing(bool compute_only);

 private:
  bool in_range(std::int32_t rank, std::size_t position, const Action& action);
  void check_compute(std::int32_t rank, std::size_t position, const Action& action, bool compute_only);
  void check_input(std::int32_t rank, std::size_t position, const Action& action);
  void check_message(std::int32_t rank, std::size_t position, const Action& action);
  void missing(Rule rule, const Action& action, const std::string& text);

  const Schedule& schedule_;
  const Placement& placement_;
  ListFindings& findings_;
  MicrobatchSet forward_, input_, weight_;  // input: I or B; weight: W or B
  MicrobatchSet sent_[2], received_[2];     // forward, backward
};

}  // namespace plumbline
