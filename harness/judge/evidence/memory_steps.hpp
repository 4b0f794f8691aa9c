// SPDX-License-Identifier: BSD-3-Clause
// memory.csv of a record by its key: one row per step and rank.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "harness/judge/check_result_builder.hpp"
#include "record/record.hpp"

namespace plumbline::judging {

/// Keeps pointers into the record.
class MemorySteps {
 public:
  /// `whose`: "reference" or "candidate".
  MemorySteps(const Record& record, std::string whose);

  /// Indexes the current step. Reports every rank with no row or several, and every row of a step outside the run.
  void step(std::int64_t step, CheckResultBuilder& builder);

  const Record& record() const { return record_; }
  const std::string& whose() const { return whose_; }
  std::int64_t step() const { return step_; }
  /// The rank's first row of the current step; null if there is none.
  const MemoryRow* find(std::int64_t rank) const;

  /// True if every row so far has the columns that divide bytes by owner, as those of our own trainers do.
  bool counts_owners() const { return why_no_owners_.empty(); }
  /// For the list of what was not inspected.
  const std::string& why_no_owners() const { return why_no_owners_; }

 private:
  void lack(const std::string& what);

  const Record& record_;
  std::string whose_;
  std::string why_no_owners_;
  std::int64_t step_ = -1;
  std::vector<const MemoryRow*> rows_;  ///< by rank
};

/// Both records' bytes in the current step.
struct BothMemories {
  const MemorySteps& reference;
  const MemorySteps& candidate;
};

}  // namespace plumbline::judging
