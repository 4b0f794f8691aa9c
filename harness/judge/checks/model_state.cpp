// SPDX-License-Identifier: BSD-3-Clause
#include "harness/judge/checks/model_state.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "harness/judge/expected/model_bytes.hpp"

namespace plumbline::judging {
namespace {

struct StateColumn {
  const char* name;
  std::optional<std::int64_t> MemoryRow::*measured;
  std::int64_t StateBytes::*expected;
};
constexpr StateColumn state_columns[] = {
    {"parameter_bytes", &MemoryRow::parameter_bytes, &StateBytes::parameters},
    {"gradient_bytes", &MemoryRow::gradient_bytes, &StateBytes::gradients},
    {"optimizer_bytes", &MemoryRow::optimizer_bytes, &StateBytes::optimizer},
};

std::string range_text(std::int64_t least, std::int64_t most) {
  return least == most ? std::to_string(least) : fmt::format("{} to {}", least, most);
}

class ModelStatePart : public MemoryPart {
 public:
  explicit ModelStatePart(const CellEvidence& evidence)
      : evidence_(evidence),
        of_reference_(ranges(evidence.reference, evidence.reference_stages)),
        of_candidate_(ranges(evidence.candidate, evidence.stages)) {
    const bool apart =
        evidence_.model.tied && evidence_.stages.stage_of("embed_tokens") != evidence_.stages.stage_of("lm_head");
    beyond_ = beyond_one_device(evidence_.model, apart, evidence.reference.manifest, evidence.candidate.manifest);
  }

  void step(const StepEvidence&, const BothMemories& memory) override {
    ranks(memory.reference, of_reference_);
    ranks(memory.candidate, of_candidate_);
    sums(memory.reference, memory.candidate);
  }

  void conclude(const BothMemories&, MemoryFindings& findings) override {
    findings.builder.absorb(std::move(builder_));
    for (const auto& what : findings_.lacking) findings.lack(what);
    findings.floors["state_cells"] = 3 * (std::ssize(evidence_.candidate.ranks) + 1) * evidence_.steps();
  }

 private:
  std::vector<StateRange> ranges(const Record& record, const StageMap& stages) const {
    std::vector<StateRange> all;
    for (const auto& rank : record.ranks) {
      StateRange& expected = all.emplace_back();
      for (const auto stage : stages.stages_on(rank.rank)) {
        expected += state_range(evidence_.model, stages.find(stage)->units, record.manifest);
      }
    }
    return all;
  }

  void ranks(const MemorySteps& memory, const std::vector<StateRange>& expected) {
    for (std::size_t i = 0; i < expected.size(); ++i) {
      const std::int64_t rank = memory.record().ranks[i].rank;
      if (const MemoryRow* row = memory.find(rank)) row_of(memory, rank, *row, expected[i]);
    }
  }

  /// The reference's bytes plus the second copy of a tied weight.
  void sums(const MemorySteps& reference, const MemorySteps& candidate) {
    for (const auto& column : state_columns) {
      const auto one = sum(reference, column), all = sum(candidate, column);
      if (!one || !all || !known(column, beyond_)) continue;
      builder_.compare("state_sums");
      const auto least = *one + beyond_.least.*column.expected, most = *one + beyond_.most.*column.expected;
      if (*all >= least && *all <= most) continue;
      report_memory(builder_, OffPath::state_of_world, candidate.whose(), candidate.step(), 0,
                    fmt::format("sum of {} over the ranks", column.name), range_text(least, most), std::to_string(*all),
                    fmt::format("the reference's {} plus the tied weight's second copy", *one));
    }
  }

  static bool known(const StateColumn& column, const StateRange& range) {
    return range.optimizer_known || column.expected != &StateBytes::optimizer;
  }

  void row_of(const MemorySteps& memory, std::int64_t rank, const MemoryRow& row, const StateRange& expected) {
    const bool may_lack = memory.record().manifest.traits.may_lack;
    for (const auto& column : state_columns) {
      const auto& measured = row.*column.measured;
      if (!known(column, expected)) {
        const std::string form =
            fmt::format("optimizer_bytes of the {} (its optimiser has no known form)", memory.whose());
        may_lack ? leave_out(form) : findings_.lack(form);
        continue;
      }
      if (!measured && may_lack) {
        findings_.lack(fmt::format("{} of the {}", column.name, memory.whose()));
        continue;
      }
      builder_.compare_or_inspect(&memory.record() == &evidence_.candidate, "state_cells");
      const auto least = expected.least.*column.expected, most = expected.most.*column.expected;
      if (measured && *measured >= least && *measured <= most) continue;
      report_memory(builder_, OffPath::state_of_rank, memory.whose(), row.step, rank, column.name,
                    range_text(least, most), measured ? std::to_string(*measured) : "absent",
                    "bytes that the shapes of the rank's units give");
    }
  }

  static std::optional<std::int64_t> sum(const MemorySteps& memory, const StateColumn& column) {
    std::int64_t total = 0;
    for (const auto& rank : memory.record().ranks) {
      const MemoryRow* row = memory.find(rank.rank);
      if (row == nullptr || !((*row).*column.measured)) return std::nullopt;
      total += *((*row).*column.measured);
    }
    return total;
  }

  void leave_out(const std::string& what) {
    if (std::find(left_out_.begin(), left_out_.end(), what) != left_out_.end()) return;
    left_out_.push_back(what);
    builder_.leave_out(what);
  }

  const CellEvidence& evidence_;
  std::vector<StateRange> of_reference_, of_candidate_;  ///< by rank
  StateRange beyond_;                                    ///< the sum over ranks minus the reference's
  CheckResultBuilder builder_ = part();
  MemoryFindings findings_{builder_, {}, {}, {}};
  std::vector<std::string> left_out_;
};

}  // namespace

std::unique_ptr<MemoryPart> model_state_part(const CellEvidence& evidence) {
  return std::make_unique<ModelStatePart>(evidence);
}

}  // namespace plumbline::judging
