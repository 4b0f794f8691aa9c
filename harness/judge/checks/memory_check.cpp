// SPDX-License-Identifier: BSD-3-Clause
// memory: in each step a rank's model state has the bytes of its units' shapes, and its activations peak at no more
// than the activation memory model gives.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>

#include "harness/judge/checks/checks.hpp"
#include "harness/judge/comparability.hpp"
#include "harness/judge/expected/model.hpp"
#include "support/text.hpp"

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

SavedTable saved_table(const Record& reference) {
  SavedTable table;
  for (const auto& rank : reference.ranks) {
    for (const auto& row : rank.saved) table[{row.microbatch, row.unit}] = row;
  }
  return table;
}

std::int64_t largest(const std::vector<std::int64_t>& peaks) {
  return peaks.empty() ? 0 : std::ranges::max(peaks);
}

/// Counts state_cells and activation_peaks. Reports as lacking what an external record omits; for activations also a
/// missing saved.csv and sizes that change between steps, because saved.csv describes one step. Activations are left
/// out if the runs used different kernels, which keep different tensors.
class MemoryCheck : public StepCheck {
 public:
  explicit MemoryCheck(const CellEvidence& evidence)
      : StepCheck(evidence, {"memory", "memory",
                             "model state equal to the bytes of the shapes, activation peaks at most as the activation "
                             "memory model predicts"}),
        sides_{{{evidence.reference, "reference", state_of(evidence.reference, evidence.reference_stages), {}},
                {evidence.candidate, "candidate", state_of(evidence.candidate, evidence.stages), {}}}} {
    if (!evidence.values->exact())
      other_kernels_ = why_other_kernels(evidence.reference.manifest, evidence.candidate.manifest);
    if (other_kernels_) return;
    saved_ = saved_table(evidence.reference);
    if (saved_.empty()) no_model_.emplace_back("saved.csv of the reference");
    if (!evidence.model.has_sizes()) no_model_.emplace_back("an activation memory model for this architecture");
    if (!evidence.compute_list) no_model_.emplace_back("a schedule.csv that can be followed");
  }

  void step(const StepEvidence& now) override {
    if (now.step < 0) return;
    predict(now);
    for (const Side& side : sides_) {
      for (std::size_t i = 0; i < side.record.ranks.size(); ++i) {
        const RankRecord& rank = side.record.ranks[i];
        for (const MemoryRow& row : rank.memory) {
          state(side, rank.rank, row, side.state[i]);
          if (i < side.peaks.size() && same_shapes_) activations(side, rank.rank, row, side.peaks[i]);
        }
      }
    }
  }

  LocatedResult conclude() override {
    const std::int64_t ranks = std::ssize(evidence_.candidate.ranks);
    const std::int64_t columns = sides_[1].state.at(0).optimizer_known ? 3 : 2;
    Counts floors = {{"state_cells", columns * (ranks + 1) * evidence_.steps()}};
    if (other_kernels_) {
      builder_.leave_out(
          fmt::format("activation peaks: the activation memory model counts what the reference's kernels keep, and "
                      "here other kernels ran ({})",
                      *other_kernels_));
    } else {
      if (!same_shapes_) no_model_.emplace_back("equal shapes in all steps (saved.csv is of one step)");
      for (const auto& what : no_model_) lack(what);
      const bool of_reference = evidence_.reference.manifest.role == "reference";
      if (no_model_.empty()) floors["activation_peaks"] = (ranks + (of_reference ? 1 : 0)) * evidence_.steps();
    }
    if (!lacking_.empty()) {
      return builder_.conclude_as(
          Outcome::incomplete,
          fmt::format("the records lack {}{}", join(lacking_, ", "),
                      builder_.count("state_cells") > 0 ? "; the values that they have agree" : ""));
    }
    return builder_.conclude("state and activations of every rank match shapes, memory model and schedule", floors);
  }

 private:
  struct Side {
    const Record& record;
    std::string whose;
    std::vector<StateRange> state;    ///< by rank
    std::vector<std::int64_t> peaks;  ///< largest predicted, by rank; empty if there is no prediction
  };

  std::vector<StateRange> state_of(const Record& record, const StageMap& stages) const {
    std::vector<StateRange> all;
    for (const auto& rank : record.ranks) {
      StateRange& expected = all.emplace_back();
      for (const auto stage : stages.stages_on(rank.rank))
        expected += state_range(evidence_.model, stages.find(stage)->units, record.manifest);
    }
    return all;
  }

  /// In the first step the largest peak of each rank; later only whether the shapes are still the same.
  void predict(const StepEvidence& now) {
    const auto bytes = now.boundary_bytes();
    const bool first = now.step == evidence_.first_step();
    if (first) bytes_ = bytes;
    same_shapes_ = same_shapes_ && !bytes.empty() && bytes == bytes_;
    if (!first || !same_shapes_ || other_kernels_ || !no_model_.empty()) return;
    for (const ActionList& list : evidence_.compute_list->ranks)
      sides_[1].peaks.push_back(largest(predict_peaks(list, evidence_.stages, saved_, bytes_)));
    builder_.predicted_peaks(sides_[1].peaks);
    if (evidence_.reference.manifest.role != "reference") return;  // another program may run in another order
    sides_[0].peaks = {
        largest(predict_peaks(one_by_one(evidence_.microbatches()), evidence_.reference_stages, saved_, bytes_))};
  }

  void state(const Side& side, std::int64_t rank, const MemoryRow& row, const StateRange& expected) {
    const bool optional = is_optional(side.record, "memory");
    for (const auto& column : state_columns) {
      const auto& measured = row.*column.measured;
      if (!expected.optimizer_known && column.expected == &StateBytes::optimizer) {
        const std::string form = fmt::format("optimizer_bytes of the {} (its optimizer has no known form)", side.whose);
        optional ? leave_out(form) : lack(form);
        continue;
      }
      if (!measured && optional) {
        lack(fmt::format("{} of the {}", column.name, side.whose));
        continue;
      }
      builder_.compare_or_inspect(&side == &sides_[1], "state_cells");
      const auto least = expected.least.*column.expected, most = expected.most.*column.expected;
      if (measured && *measured >= least && *measured <= most) continue;
      report(OffPath::state_of_rank, side, rank, row.step, column.name,
             least == most ? std::to_string(least) : fmt::format("{} to {}", least, most), measured,
             "bytes that the shapes of the rank's units give");
    }
  }

  void activations(const Side& side, std::int64_t rank, const MemoryRow& row, std::int64_t most) {
    const auto& measured = row.activation_peak_bytes;
    if (!measured && is_optional(side.record, "memory")) return lack("activation_peak_bytes");
    builder_.compare("activation_peaks");
    if (measured && &side == &sides_[1] && most > 0) {
      builder_.evidence("activation_peak_bytes", *measured);
      builder_.evidence("activation_peak_permille_of_model", 1000 * *measured / most);
    }
    if (measured && *measured <= most) return;
    report(OffPath::activation_peak, side, rank, row.step, "activation_peak_bytes", fmt::format("at most {}", most),
           measured, "more than the activation memory model predicts");
  }

  void report(OffPath place, const Side& side, std::int64_t rank, std::int64_t step, const std::string& item,
              const std::string& expected, const std::optional<std::int64_t>& got, const std::string& why) {
    builder_.diverge(off_path(step, place, rank), {.step = step,
                                                   .rank = rank,
                                                   .source = side.whose,
                                                   .item = item,
                                                   .expected = expected,
                                                   .got = got ? std::to_string(*got) : "absent",
                                                   .why = why});
  }

  void lack(const std::string& what) {
    if (std::ranges::find(lacking_, what) == lacking_.end()) lacking_.push_back(what);
  }

  void leave_out(const std::string& what) {
    if (std::ranges::find(left_out_, what) != left_out_.end()) return;
    left_out_.push_back(what);
    builder_.leave_out(what);
  }

  std::array<Side, 2> sides_;  ///< reference, candidate
  SavedTable saved_;
  std::vector<std::int64_t> bytes_;  ///< of a boundary tensor in the first step, by microbatch
  bool same_shapes_ = true;
  std::optional<std::string> other_kernels_;
  std::vector<std::string> no_model_;  ///< reasons why activations cannot be predicted
  std::vector<std::string> lacking_, left_out_;
};

}  // namespace

CheckDescriptor memory_check() {
  return {.name = "memory",
          .claims =
              "in each step and on each rank, the bytes of parameters, gradients and optimizer state match the shapes, "
              "and activations peak at no more than the activation memory model predicts.",
          .needs_in_words = "[`memory.csv`](record-format.md#memorycsv); external records may lack columns.",
          .cannot_see = "memory that is neither model state nor activations.",
          .one_device_reference = true,
          .needs_of_reference = {"inputs", "labels"},
          .compares_without = {"actions", "schedule"},
          .make = make_check<MemoryCheck>};
}

}  // namespace plumbline::judging
