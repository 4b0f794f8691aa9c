// SPDX-License-Identifier: BSD-3-Clause
// The memory check has parts, each judged for itself: what one of them has found counts only if the whole run turned
// out to be of the kind that it speaks of.
#pragma once

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "harness/judge/evidence/memory_steps.hpp"
#include "harness/judge/evidence/step_evidence.hpp"
#include "harness/judge/judgement.hpp"

namespace plumbline::judging {

/// What the parts have found, one after the other.
struct MemoryFindings {
  Judgement& judgement;
  std::vector<std::string> lacking;   ///< what the records do not have and would have to
  std::vector<std::string> measured;  ///< for people
  Counts floors;

  void lack(const std::string& what) {
    if (std::find(lacking.begin(), lacking.end(), what) == lacking.end()) lacking.push_back(what);
  }
};

class MemoryPart {
 public:
  virtual ~MemoryPart() = default;
  /// A step of the run, from 0.
  virtual void step(const StepEvidence& now, const BothMemories& memory) = 0;
  virtual void conclude(const BothMemories& memory, MemoryFindings& findings) = 0;

 protected:
  static Judgement part() { return {"memory", "memory", ""}; }
};

/// "candidate, rank 1, step 2: table_bytes is 4, expected at most 2: <words>".
inline void report_memory(Judgement& judgement, Beside place, const std::string& whose, std::int64_t step,
                          std::int64_t rank, const std::string& item, const std::string& expected,
                          const std::string& got, const std::string& words) {
  judgement.diverge(beside(step, place, rank), step, rank, item, expected, got,
                    whose + ", rank " + std::to_string(rank) + ", " + step_words(step) + ": " + item + " is " + got +
                        ", expected " + expected + ": " + words);
}

}  // namespace plumbline::judging
