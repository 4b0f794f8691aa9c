// SPDX-License-Identifier: BSD-3-Clause
// Measured activation bytes compared with the activation memory model, action by action, and the model's input with its
// closed forms.
#include <fmt/format.h>

#include <algorithm>

#include "harness/judge/checks/memory_part.hpp"
#include "harness/judge/comparability.hpp"
#include "harness/judge/expected/activation_law.hpp"
#include "harness/judge/expected/model_bytes.hpp"
#include "record/precision.hpp"

namespace plumbline::judging {
namespace {

SavedTable saved_table(const Record& reference) {
  SavedTable table;
  for (const auto& rank : reference.ranks) {
    for (const auto& row : rank.saved) table[{row.microbatch, row.unit}] = row;
  }
  return table;
}

/// Compares a rank of the candidate, or the reference, with its predicted peaks.
class PeakComparison {
 public:
  PeakComparison(std::string whose, const RankRecord& rank, std::vector<PredictedPeak> peaks, bool may_lack,
                 CheckResultBuilder& builder)
      : whose_(std::move(whose)), rank_(rank), peaks_(std::move(peaks)), may_lack_(may_lack), builder_(builder) {
    for (const auto& peak : peaks_) {
      actions_.push_back(to_text(peak.action));
      most_ = std::max(most_, peak.bytes);
    }
  }

  /// Compares the current rows.
  void step() {
    std::vector<const ActionRow*> rows;
    for (const ActionRow* row : actions_in_order(rank_)) {
      const auto action = parse_action(row->action);
      if (action && is_compute(action->type)) rows.push_back(row);
    }
    std::int64_t most = 0;
    bool exact = true;
    for (std::size_t i = 0; i < peaks_.size(); ++i) {
      most = std::max(most, peaks_[i].bytes);
      exact = exact && peaks_[i].exact;
      if (i >= rows.size() || rows[i]->action != actions_[i])
        return;  // reported by conformance; the minimum of comparisons fails here
      compare(*rows[i], peaks_[i]);
    }
    for (const auto& row : rank_.memory) compare_peak_of_step(row, most, exact);
  }

  bool lacking() const { return lacking_; }
  std::int64_t most() const { return most_; }
  bool exact() const { return std::ranges::all_of(peaks_, &PredictedPeak::exact); }

 private:
  static bool agrees(std::int64_t measured, std::int64_t predicted, bool exact) {
    return exact ? measured == predicted : measured <= predicted;
  }

  void compare(const ActionRow& row, const PredictedPeak& peak) {
    if (!row.peak_bytes && may_lack_) {
      lacking_ = true;
      return;
    }
    builder_.compare("actions");
    if (row.peak_bytes && agrees(*row.peak_bytes, peak.bytes, peak.exact)) return;
    const auto difference = row.peak_bytes.value_or(0) - peak.bytes;
    report(off_path_action(row.step, row.index, rank_.rank), row.action,
           fmt::format("action {}, index {}", row.action, row.index), peak.bytes, row.peak_bytes,
           fmt::format("bytes of activations, predicted peak in {}, {}{}", peak.unit, difference > 0 ? "+" : "",
                       difference));
  }

  void compare_peak_of_step(const MemoryRow& row, std::int64_t most, bool exact) {
    if (!row.activation_peak_bytes && may_lack_) {
      lacking_ = true;
      return;
    }
    builder_.compare("activation_peaks");
    if (row.activation_peak_bytes && agrees(*row.activation_peak_bytes, most, exact)) return;
    report(off_path(row.step, OffPath::activation_peak, rank_.rank), "activation_peak_bytes", "", most,
           row.activation_peak_bytes, "not what the activation memory model predicts");
  }

  void report(const ExecutionPoint& point, const std::string& item, const std::string& what, std::int64_t expected,
              const std::optional<std::int64_t>& got, const std::string& why) {
    builder_.diverge(point, {.step = point.step,
                             .rank = rank_.rank,
                             .source = whose_,
                             .item = item,
                             .what = what,
                             .expected = std::to_string(expected),
                             .got = got ? std::to_string(*got) : "absent",
                             .why = why});
  }

  std::string whose_;
  const RankRecord& rank_;
  std::vector<PredictedPeak> peaks_;
  std::vector<std::string> actions_;  ///< actions of the peaks, as in a table
  std::int64_t most_ = 0;
  bool may_lack_;
  CheckResultBuilder& builder_;
  bool lacking_ = false;
};

/// saved_bytes of the reference equal their closed forms; otherwise a leak in the reference would be predicted for the
/// candidate. Counts saved_cells.
class SavedBytesPart : public MemoryPart {
 public:
  explicit SavedBytesPart(const CellEvidence& evidence)
      : MemoryPart(evidence),
        kernel_(attention_kernel(evidence.reference.manifest)),
        recompute_(evidence.reference.manifest.recompute),
        no_form_(!evidence.model.llama              ? "the model is not a Llama"
                 : recomputes_attention(recompute_) ? ""
                                                    : why_no_layer_form(evidence.model, kernel_)) {
    if (!no_form_.empty())
      builder_.leave_out(fmt::format("the closed form of the bytes that a layer keeps ({})", no_form_));
  }

  /// saved.csv describes the first step.
  void step(const StepEvidence& now, const BothMemories&) override {
    if (now.step != evidence_.first_step()) return;
    if (!evidence_.model.llama) return;
    for (const auto& [key, row] : saved_table(evidence_.reference)) {
      if (no_form_.empty() || !is_layer(row.unit)) compare(now, row);
    }
  }

 private:
  void compare(const StepEvidence& now, const SavedRow& row) {
    const MicrobatchRow* sizes = now.reference_rows.microbatch(row.microbatch);
    const auto shape = sizes ? MicrobatchShape{sizes->batch, sizes->sequence_length} : MicrobatchShape{};
    const std::string dtype = computed_dtype(evidence_.reference.manifest.dtype);
    const auto expected = saved_bytes(evidence_.model, row.unit, shape, dtype, kernel_, recompute_);
    builder_.inspect("saved_cells");
    if (expected && *expected == row.saved_bytes) return;
    builder_.diverge(off_path(-1, OffPath::saved, evidence_.model.unit_position(row.unit).value_or(0), row.microbatch),
                     {.step = now.step,
                      .microbatch = row.microbatch,
                      .source = "reference",
                      .item = row.unit,
                      .expected = expected ? std::to_string(*expected) : "a unit of the model",
                      .got = std::to_string(row.saved_bytes),
                      .why = fmt::format("bytes kept for backward of {} tokens, against their closed form",
                                         shape.batch * shape.sequence)});
  }

  AttentionKernel kernel_;
  std::string recompute_;
  std::string no_form_;
};

/// Compares each compute action's peak_bytes and each step's activation_peak_bytes on every rank with the prediction.
/// Counts actions, activation_peaks. Reports as lacking: a missing saved.csv, what an external record omits, and, if
/// sizes change between steps, everything, because saved.csv describes one step. Skipped if the runs used different
/// kernels.
class ActivationsPart : public MemoryPart {
 public:
  explicit ActivationsPart(const CellEvidence& evidence) : MemoryPart(evidence) {
    if (!evidence.values->exact())
      other_kernels_ = why_other_kernels(evidence.reference.manifest, evidence.candidate.manifest);
    if (other_kernels_) return;
    saved_ = saved_table(evidence.reference);
    if (saved_.empty()) lacking_.emplace_back("saved.csv of the reference");
    if (!evidence.model.llama) lacking_.emplace_back("an activation memory model for this architecture");
    if (!evidence.compute_list) lacking_.emplace_back("a schedule.csv that can be followed");
  }

  void step(const StepEvidence& now, const BothMemories&) override {
    if (other_kernels_) return;
    const auto bytes = now.boundary_bytes();
    if (now.step == evidence_.first_step()) bytes_ = bytes;
    same_shapes_ = same_shapes_ && !bytes.empty() && bytes == bytes_;
    if (!lacking_.empty() || !same_shapes_) return;
    if (now.step == evidence_.first_step()) predict();
    for (auto& rank : ranks_) rank.step();
  }

  void conclude(const BothMemories&, MemoryFindings& findings) override {
    if (other_kernels_) {
      findings.builder.leave_out(
          fmt::format("activations by the activation memory model, which counts what the reference's kernels keep "
                      "(here other kernels ran: {})",
                      *other_kernels_));
      return;
    }
    if (!same_shapes_) lacking_.emplace_back("equal shapes in all steps (saved.csv is of one step)");
    for (const auto& what : lacking_) findings.lack(what);
    if (!lacking_.empty()) return;
    findings.builder.absorb(std::move(builder_));
    if (std::any_of(ranks_.begin(), ranks_.end(), [](const auto& rank) { return rank.lacking(); }))
      findings.lack("peak_bytes or activation_peak_bytes");
    if (!std::ranges::all_of(ranks_, &PeakComparison::exact))
      findings.builder.leave_out(
          "whether split backward passes keep less than an upper limit (the reference's saved.csv has no input_bytes: "
          "record it without --without-split-backward)");
    // The reference's actions count as well and must not replace those that a rank lacks.
    const bool of_reference = evidence_.reference.manifest.role == "reference";
    std::int64_t actions = of_reference ? 2 * evidence_.microbatches() : 0;
    for (const auto& list : evidence_.compute_list->ranks) actions += std::ssize(list);
    findings.floors["actions"] = actions * evidence_.steps();
    findings.floors["activation_peaks"] =
        (std::ssize(evidence_.candidate.ranks) + (of_reference ? 1 : 0)) * evidence_.steps();
  }

 private:
  void predict() {
    const bool may_lack = evidence_.candidate.manifest.traits.may_lack;
    const auto& lists = evidence_.compute_list->ranks;
    std::vector<std::int64_t> predicted(lists.size(), 0);
    for (const auto& rank : evidence_.candidate.ranks) {
      const auto index = static_cast<std::size_t>(rank.rank);
      if (index >= lists.size()) continue;
      ranks_.emplace_back("", rank, predict_peaks(lists[index], evidence_.stages, saved_, bytes_), may_lack, builder_);
      predicted[index] = ranks_.back().most();
      builder_.inspect("ranks");
    }
    builder_.predicted_peaks(std::move(predicted));
    if (evidence_.reference.manifest.role != "reference") return;
    // The model also predicts the reference.
    ranks_.emplace_back("reference", evidence_.reference.ranks.at(0),
                        predict_peaks(one_by_one(evidence_.microbatches()), evidence_.reference_stages, saved_, bytes_),
                        false, builder_);
  }

  std::optional<std::string> other_kernels_;
  SavedTable saved_;
  std::vector<std::int64_t> bytes_;  ///< of a boundary tensor in the first step, by microbatch
  bool same_shapes_ = true;
  std::vector<PeakComparison> ranks_;  ///< the candidate's ranks, then the reference
};

}  // namespace

std::unique_ptr<MemoryPart> saved_bytes_part(const CellEvidence& evidence) {
  return std::make_unique<SavedBytesPart>(evidence);
}

std::unique_ptr<MemoryPart> activations_part(const CellEvidence& evidence) {
  return std::make_unique<ActivationsPart>(evidence);
}

}  // namespace plumbline::judging
