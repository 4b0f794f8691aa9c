// SPDX-License-Identifier: BSD-3-Clause
// memory.csv of a record by its key: in each step one row for each rank, and no other.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "harness/judge/judgement.hpp"
#include "record/record.hpp"

namespace plumbline::judging {

/// Points into the record, which must outlive it.
class MemorySteps {
 public:
  /// `whose`: "reference" or "candidate".
  MemorySteps(const Record& record, std::string whose);

  /// Of the step in hand: reports every rank that has no row or several, and every row of a step that the run does not
  /// have.
  void step(std::int64_t step, Judgement& judgement);

  const Record& record() const { return record_; }
  const std::string& whose() const { return whose_; }
  std::int64_t step() const { return step_; }
  /// The first row of the rank in the step in hand; null where there is none.
  const MemoryRow* find(std::int64_t rank) const;

  /// Whether every row so far has the columns that divide the bytes by owner, as our own trainers divide them.
  bool counts_owners() const { return why_no_owners_.empty(); }
  /// For the list of what was not looked at.
  const std::string& why_no_owners() const { return why_no_owners_; }

 private:
  void lack(const std::string& what);

  const Record& record_;
  std::string whose_;
  std::string why_no_owners_;
  std::int64_t step_ = -1;
  std::vector<const MemoryRow*> rows_;  ///< by rank
};

/// Both records' bytes, of the step in hand.
struct BothMemories {
  const MemorySteps& reference;
  const MemorySteps& candidate;
};

}  // namespace plumbline::judging
