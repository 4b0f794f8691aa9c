#include "harness/judge/checks/model_state.hpp"

#include <algorithm>

#include "harness/judge/checks/memory_places.hpp"
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
  return least == most ? std::to_string(least) : std::to_string(least) + " to " + std::to_string(most);
}

class StateComparison {
 public:
  StateComparison(const CellEvidence& evidence, Judgement& judgement) : evidence_(evidence), judgement_(judgement) {}

  void ranks(const MemorySteps& memory, const StageMap& stages) {
    const Manifest& manifest = memory.record().manifest;
    for (const auto& rank : memory.record().ranks) {
      StateRange expected;
      for (const auto stage : stages.stages_on(rank.rank)) {
        expected += state_range(evidence_.model, stages.find(stage)->units, manifest);
      }
      for (std::int64_t step = 0; step < evidence_.steps(); ++step) {
        if (const MemoryRow* row = memory.find(rank.rank, step)) row_of(memory, rank.rank, *row, expected);
      }
    }
  }

  /// The reference's own figure and what the second copy of a tied weight costs.
  void sums(const MemorySteps& reference, const MemorySteps& candidate) {
    const bool apart =
        evidence_.model.tied && evidence_.stages.stage_of("embed_tokens") != evidence_.stages.stage_of("lm_head");
    const StateRange difference =
        beyond_one_device(evidence_.model, apart, reference.record().manifest, candidate.record().manifest);
    for (std::int64_t step = 0; step < evidence_.steps(); ++step) {
      for (const auto& column : state_columns) {
        const auto one = sum(reference, step, column), all = sum(candidate, step, column);
        if (!one || !all || !known(column, difference)) continue;
        judgement_.compare("state_sums");
        const auto least = *one + difference.least.*column.expected, most = *one + difference.most.*column.expected;
        if (*all >= least && *all <= most) continue;
        report_memory(judgement_, MemoryPlace::state_of_world, candidate.whose(), step, 0,
                      std::string("sum of ") + column.name + " over the ranks", range_text(least, most),
                      std::to_string(*all),
                      "the reference's " + std::to_string(*one) + " and what the tied weight's second copy takes");
      }
    }
  }

  std::vector<std::string> lacking;

 private:
  static bool known(const StateColumn& column, const StateRange& range) {
    return range.optimizer_known || column.expected != &StateBytes::optimizer;
  }

  void row_of(const MemorySteps& memory, std::int64_t rank, const MemoryRow& row, const StateRange& expected) {
    const bool external = memory.record().manifest.role == "external";
    for (const auto& column : state_columns) {
      const auto& measured = row.*column.measured;
      if (!known(column, expected)) {
        const std::string form = "optimizer_bytes of the " + memory.whose() + " (its optimiser has no known form)";
        external ? leave_out(form) : lack(form);
        continue;
      }
      if (!measured && external) {
        lack(std::string(column.name) + " of the " + memory.whose());
        continue;
      }
      judgement_.compare_or_look_at(&memory.record() == &evidence_.candidate, "state_cells");
      const auto least = expected.least.*column.expected, most = expected.most.*column.expected;
      if (measured && *measured >= least && *measured <= most) continue;
      report_memory(judgement_, MemoryPlace::state_of_rank, memory.whose(), row.step, rank, column.name,
                    range_text(least, most), measured ? std::to_string(*measured) : "absent",
                    "bytes that the shapes of the rank's units give");
    }
  }

  static std::optional<std::int64_t> sum(const MemorySteps& memory, std::int64_t step, const StateColumn& column) {
    std::int64_t total = 0;
    for (const auto& rank : memory.record().ranks) {
      const MemoryRow* row = memory.find(rank.rank, step);
      if (row == nullptr || !((*row).*column.measured)) return std::nullopt;
      total += *((*row).*column.measured);
    }
    return total;
  }

  void lack(const std::string& what) {
    if (std::find(lacking.begin(), lacking.end(), what) == lacking.end()) lacking.push_back(what);
  }
  void leave_out(const std::string& what) {
    if (std::find(left_out_.begin(), left_out_.end(), what) != left_out_.end()) return;
    left_out_.push_back(what);
    judgement_.leave_out(what);
  }

  const CellEvidence& evidence_;
  Judgement& judgement_;
  std::vector<std::string> left_out_;
};

}  // namespace

std::vector<std::string> compare_model_state(const CellEvidence& evidence, const MemorySteps& reference,
                                             const MemorySteps& candidate, Judgement& judgement) {
  StateComparison comparison(evidence, judgement);
  comparison.ranks(reference, evidence.reference_stages);
  comparison.ranks(candidate, evidence.stages);
  comparison.sums(reference, candidate);
  return comparison.lacking;
}

}  // namespace plumbline::judging
