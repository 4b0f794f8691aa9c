// SPDX-License-Identifier: BSD-3-Clause
// The parts of the memory check, one file each. A part's findings count only if the whole run turns out to be of the
// kind that the part applies to.
#pragma once

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "harness/judge/check_result_builder.hpp"
#include "harness/judge/evidence/cell_evidence.hpp"
#include "harness/judge/evidence/memory_steps.hpp"

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
  explicit MemoryPart(const CellEvidence& evidence) : evidence_(evidence) {}
  virtual ~MemoryPart() = default;
  /// Called for each step of the run, from 0.
  virtual void step(const StepEvidence& now, const BothMemories& memory) = 0;
  /// Adds its own findings.
  virtual void conclude(const BothMemories& /*memory*/, MemoryFindings& findings) {
    findings.builder.absorb(std::move(builder_));
    for (const auto& what : lacking_) findings.lack(what);
  }

 protected:
  void lack(const std::string& what) { lacking_.push_back(what); }

  const CellEvidence& evidence_;
  CheckResultBuilder builder_ = {"memory", "memory", ""};
  std::vector<std::string> lacking_;
};

std::unique_ptr<MemoryPart> model_state_part(const CellEvidence& evidence);
std::unique_ptr<MemoryPart> saved_bytes_part(const CellEvidence& evidence);
std::unique_ptr<MemoryPart> activations_part(const CellEvidence& evidence);
std::unique_ptr<MemoryPart> step_ends_part(const CellEvidence& evidence);
std::unique_ptr<MemoryPart> peak_bounds_part(const CellEvidence& evidence);
std::unique_ptr<MemoryPart> transport_buffers_part(const CellEvidence& evidence);
std::unique_ptr<MemoryPart> owned_bytes_part(const CellEvidence& evidence);
std::unique_ptr<MemoryPart> processes_part(const CellEvidence& evidence);
std::unique_ptr<MemoryPart> gpu_memory_part(const CellEvidence& evidence);

/// "candidate: step 2, rank 1, table_bytes: <why> (expected at most 2, got 4)".
inline void report_memory(CheckResultBuilder& builder, OffPath place, const std::string& whose, std::int64_t step,
                          std::int64_t rank, const std::string& item, const std::string& expected,
                          const std::string& got, const std::string& why) {
  builder.diverge(
      off_path(step, place, rank),
      {.step = step, .rank = rank, .source = whose, .item = item, .expected = expected, .got = got, .why = why});
}

}  // namespace plumbline::judging
