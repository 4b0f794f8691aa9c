// SPDX-License-Identifier: BSD-3-Clause
// Compares bytes of parameters, gradients and optimiser state with the shapes.
#include <fmt/format.h>

#include <algorithm>

#include "harness/judge/checks/memory_part.hpp"
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

/// Compares every rank of both records with the shapes of its units, and the sum over ranks with the reference's plus
/// the second copy of a tied weight. Exact for our own trainers; for external ones within the range of correct
/// implementations (docs/record-format.md): how the optimiser counts steps, and whether a rank with both uses of a tied
/// weight keeps it once or twice. Optimiser state without a known form is skipped and reported. Counts state_cells,
/// state_sums.
class ModelStatePart : public MemoryPart {
 public:
  explicit ModelStatePart(const CellEvidence& evidence)
      : MemoryPart(evidence),
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

  void conclude(const BothMemories& memory, MemoryFindings& findings) override {
    MemoryPart::conclude(memory, findings);
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
    for (const auto& [rank, row] : memory.rows()) row_of(memory, rank, *row, expected[static_cast<std::size_t>(rank)]);
  }

  /// The reference's bytes plus the second copy of a tied weight.
  void sums(const MemorySteps& reference, const MemorySteps& candidate) {
    for (const auto& column : state_columns) {
      const auto one = sum(reference, column), all = sum(candidate, column);
      if (!one || !all || !known(column, beyond_)) continue;
      builder_.compare("state_sums");
      const auto least = *one + beyond_.least.*column.expected, most = *one + beyond_.most.*column.expected;
      if (*all >= least && *all <= most) continue;
      report_memory(builder_, OffPath::state_of_world, candidate.whose(), candidate.rows().front().row->step, 0,
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
        may_lack ? leave_out(form) : lack(form);
        continue;
      }
      if (!measured && may_lack) {
        lack(fmt::format("{} of the {}", column.name, memory.whose()));
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
    for (const auto& placed : memory.rows()) {
      const auto& measured = placed.row->*column.measured;
      if (!measured) return std::nullopt;
      total += *measured;
    }
    return total;
  }

  void leave_out(const std::string& what) {
    if (std::find(left_out_.begin(), left_out_.end(), what) != left_out_.end()) return;
    left_out_.push_back(what);
    builder_.leave_out(what);
  }

  std::vector<StateRange> of_reference_, of_candidate_;  ///< by rank
  StateRange beyond_;                                    ///< the sum over ranks minus the reference's
  std::vector<std::string> left_out_;
};

}  // namespace

std::unique_ptr<MemoryPart> model_state_part(const CellEvidence& evidence) {
  return std::make_unique<ModelStatePart>(evidence);
}

}  // namespace plumbline::judging
