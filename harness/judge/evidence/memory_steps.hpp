// memory.csv of a record by its key: one row for each step of each rank, and no other.
#pragma once

#include <map>
#include <string>
#include <utility>

#include "harness/judge/judgement.hpp"
#include "record/record.hpp"

namespace plumbline::judging {

/// Points into the record, which must outlive it.
class MemorySteps {
 public:
  /// Reports every step of a rank that has no row or several, and every row of a step that the run does not have.
  /// `whose`: "reference" or "candidate".
  MemorySteps(const Record& record, std::string whose, Judgement& judgement);

  const Record& record() const { return record_; }
  const std::string& whose() const { return whose_; }
  /// The first row of the key; null where there is none.
  const MemoryRow* find(std::int64_t rank, std::int64_t step) const;

  /// Whether every row has the columns that divide the bytes by owner, as our own trainers divide them.
  bool counts_owners() const { return why_no_owners_.empty(); }
  /// For the list of what was not looked at.
  const std::string& why_no_owners() const { return why_no_owners_; }

 private:
  const Record& record_;
  std::string whose_;
  std::string why_no_owners_;
  std::map<std::pair<std::int64_t, std::int64_t>, const MemoryRow*> rows_;  ///< by (rank, step)
};

}  // namespace plumbline::judging
