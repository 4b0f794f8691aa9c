// SPDX-License-Identifier: BSD-3-Clause
// memory.csv of a record, of which the reader demands one row a step and rank.
#pragma once

#include <string>
#include <vector>

#include "harness/judge/evidence/record_index.hpp"

namespace plumbline::judging {

/// Keeps pointers into the record.
class MemorySteps {
 public:
  /// `whose`: "reference" or "candidate".
  MemorySteps(const Record& record, std::string whose);

  /// Takes the record's current rows.
  void step();

  const Record& record() const { return record_; }
  const std::string& whose() const { return whose_; }
  /// Of the current step, by rank.
  const std::vector<Located<MemoryRow>>& rows() const { return rows_; }

  /// True if every row so far has the columns that divide bytes by owner, as those of our own trainers do.
  bool counts_owners() const { return why_no_owners_.empty(); }
  /// For the list of what was not inspected.
  const std::string& why_no_owners() const { return why_no_owners_; }

 private:
  void lack(const std::string& what);

  const Record& record_;
  std::string whose_;
  std::string why_no_owners_;
  std::vector<Located<MemoryRow>> rows_;
};

/// Both records' bytes in the current step.
struct BothMemories {
  const MemorySteps& reference;
  const MemorySteps& candidate;
};

}  // namespace plumbline::judging
