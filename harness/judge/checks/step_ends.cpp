// SPDX-License-Identifier: BSD-3-Clause
#include "harness/judge/checks/step_ends.hpp"

#include <optional>

namespace plumbline::judging {
namespace {

/// Judges one record.
class StepEnds {
 public:
  void step(const MemorySteps& memory, bool of_candidate, MemoryFindings& findings) {
    firsts_.resize(memory.record().ranks.size());
    for (std::size_t i = 0; i < firsts_.size(); ++i) {
      const std::int64_t rank = memory.record().ranks[i].rank;
      const MemoryRow* row = memory.find(rank);
      if (row == nullptr) continue;
      if (!row->live_bytes) {
        findings.lack("live_bytes of the " + memory.whose());
        continue;
      }
      findings.builder.compare_or_inspect(of_candidate, "step_ends");
      auto& first = firsts_[i];
      if (!first) first = row->live_bytes;
      if (*row->live_bytes == *first) continue;
      report_memory(findings.builder, OffPath::leak, memory.whose(), memory.step(), rank, "live_bytes",
                    std::to_string(*first), std::to_string(*row->live_bytes),
                    "tensor bytes alive at the step's end, against the end of the first step");
    }
  }

 private:
  std::vector<std::optional<std::int64_t>> firsts_;  ///< by rank
};

class StepEndsPart : public MemoryPart {
 public:
  explicit StepEndsPart(const CellEvidence& evidence) : evidence_(evidence) {}

  void step(const StepEvidence&, const BothMemories& memory) override {
    reference_.step(memory.reference, false, findings_);
    candidate_.step(memory.candidate, true, findings_);
  }

  void conclude(const BothMemories&, MemoryFindings& findings) override {
    findings.builder.absorb(std::move(builder_));
    for (const auto& what : findings_.lacking) findings.lack(what);
    findings.floors["step_ends"] = (std::ssize(evidence_.candidate.ranks) + 1) * evidence_.steps();
  }

 private:
  const CellEvidence& evidence_;
  CheckResultBuilder builder_ = part();
  MemoryFindings findings_{builder_, {}, {}, {}};
  StepEnds reference_, candidate_;
};

}  // namespace

std::unique_ptr<MemoryPart> step_ends_part(const CellEvidence& evidence) {
  return std::make_unique<StepEndsPart>(evidence);
}

}  // namespace plumbline::judging
