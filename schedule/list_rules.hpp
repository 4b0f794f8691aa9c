// SPDX-License-Identifier: BSD-3-Clause
// The rules that one rank's list must meet by itself: range, rank, duplicates, order, messages, what is missing.
#pragma once

#include "schedule/finding.hpp"
#include "schedule/microbatch_set.hpp"
#include "schedule/schedule.hpp"

namespace plumbline {

/// Sizes that later rules index by. False when they are impossible.
bool check_sizes(const Schedule& schedule, Findings& findings);

class ListRules {
 public:
  ListRules(const Schedule& schedule, Findings& findings);

  /// All actions of a rank in order. `compute_only`: messages, REDUCE and STEP are refused, and no message is missed.
  void check_rank(std::int32_t rank, bool compute_only);
  /// What no list held. After all ranks.
  void check_missing(bool compute_only);

 private:
  bool in_range(std::int32_t rank, std::size_t position, const Action& action);
  void check_compute(std::int32_t rank, std::size_t position, const Action& action, bool compute_only);
  void check_input(std::int32_t rank, std::size_t position, const Action& action);
  void check_message(std::int32_t rank, std::size_t position, const Action& action);
  void missing(Rule rule, const Action& action, const std::string& text);

  const Schedule& schedule_;
  const Placement& placement_;
  Findings& findings_;
  MicrobatchSet forward_, input_, weight_;  // input: I or B; weight: W or B
  MicrobatchSet sent_[2], received_[2];     // forward, backward
};

}  // namespace plumbline
