// SPDX-License-Identifier: BSD-3-Clause
// No bytes are kept from one step to the next.
#include <map>

#include "harness/judge/checks/memory_part.hpp"

namespace plumbline::judging {
namespace {

/// After the first step, which allocates the optimiser's state, every step ends with the same number of live bytes, in
/// both records. Counts step_ends.
class StepEndsPart : public MemoryPart {
 public:
  using MemoryPart::MemoryPart;

  void step(const StepEvidence&, const BothMemories& memory) override {
    compare(memory.reference, false, reference_);
    compare(memory.candidate, true, candidate_);
  }

  void conclude(const BothMemories& memory, MemoryFindings& findings) override {
    MemoryPart::conclude(memory, findings);
    findings.floors["step_ends"] = (std::ssize(evidence_.candidate.ranks) + 1) * evidence_.steps();
  }

 private:
  using Firsts = std::map<std::int64_t, std::int64_t>;  ///< bytes at the end of the first step, by rank

  void compare(const MemorySteps& memory, bool of_candidate, Firsts& firsts) {
    for (const auto& [rank, row] : memory.rows()) {
      if (!row->live_bytes) {
        lack("live_bytes of the " + memory.whose());
        continue;
      }
      builder_.compare_or_inspect(of_candidate, "step_ends");
      const std::int64_t first = firsts.emplace(rank, *row->live_bytes).first->second;
      if (*row->live_bytes == first) continue;
      report_memory(builder_, OffPath::leak, memory.whose(), row->step, rank, "live_bytes", std::to_string(first),
                    std::to_string(*row->live_bytes),
                    "tensor bytes alive at the step's end, against the end of the first step");
    }
  }

  Firsts reference_, candidate_;
};

}  // namespace

std::unique_ptr<MemoryPart> step_ends_part(const CellEvidence& evidence) {
  return std::make_unique<StepEndsPart>(evidence);
}

}  // namespace plumbline::judging
