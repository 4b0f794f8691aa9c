// SPDX-License-Identifier: BSD-3-Clause
// Interface of the parts of the memory check. A part's findings count only if the whole run turns out to be of the kind
// that the part applies to.
#pragma once

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "harness/judge/check_result_builder.hpp"
#include "harness/judge/evidence/memory_steps.hpp"
#include "harness/judge/evidence/step_evidence.hpp"

namespace plumbline::judging {

/// Findings of the parts, in order.
struct MemoryFindings {
  CheckResultBuilder& builder;
  std::vector<std::string> lacking;   ///< columns or tables that a part needs and the records lack
  std::vector<std::string> measured;  ///< measured figures, for the report
  Counts floors;

  void lack(const std::string& what) {
    if (std::find(lacking.begin(), lacking.end(), what) == lacking.end()) lacking.push_back(what);
  }
};

class MemoryPart {
 public:
  virtual ~MemoryPart() = default;
  /// Called for each step of the run, from 0.
  virtual void step(const StepEvidence& now, const BothMemories& memory) = 0;
  virtual void conclude(const BothMemories& memory, MemoryFindings& findings) = 0;

 protected:
  static CheckResultBuilder part() { return {"memory", "memory", ""}; }
};

/// "candidate: step 2, rank 1, table_bytes: <why> (expected at most 2, got 4)".
inline void report_memory(CheckResultBuilder& builder, OffPath place, const std::string& whose, std::int64_t step,
                          std::int64_t rank, const std::string& item, const std::string& expected,
                          const std::string& got, const std::string& why) {
  builder.diverge(
      off_path(step, place, rank),
      {.step = step, .rank = rank, .source = whose, .item = item, .expected = expected, .got = got, .why = why});
}

}  // namespace plumbline::judging
