#include "harness/judge/checks/activation_comparison.hpp"

#include <algorithm>

#include "harness/judge/evidence/step_rows.hpp"
#include "harness/judge/expected/activation_law.hpp"
#include "harness/judge/expected/model_bytes.hpp"

namespace plumbline::judging {
namespace {

SavedTable saved_table(const Record& reference) {
  SavedTable table;
  for (const auto& rank : reference.ranks) {
    for (const auto& row : rank.saved) table[{row.microbatch, row.unit}] = row;
  }
  return table;
}

/// saved.csv is of one step: the law speaks of all steps only when a microbatch has the same shape in each.
bool same_shapes_in_all_steps(const CellEvidence& evidence) {
  const auto& manifest = evidence.reference.manifest;
  const auto first = boundary_bytes(evidence.reference_rows, manifest, 0, evidence.model.hidden);
  for (std::int64_t step = 1; step < evidence.steps(); ++step) {
    if (boundary_bytes(evidence.reference_rows, manifest, step, evidence.model.hidden) != first) return false;
  }
  return !first.empty();
}

class PeakComparison {
 public:
  PeakComparison(std::string whose, const RankRecord& rank, const std::vector<PredictedPeak>& peaks, bool may_lack,
                 Judgement& judgement)
      : whose_(std::move(whose)), rank_(rank), peaks_(peaks), may_lack_(may_lack), judgement_(judgement) {}

  void step(std::int64_t step) {
    std::vector<const ActionRow*> rows;
    for (const auto& row : step_rows(rank_.actions, step)) {
      const auto action = parse_action(row.action);
      if (action && is_compute(action->type)) rows.push_back(&row);
    }
    std::stable_sort(rows.begin(), rows.end(), [](const auto* a, const auto* b) { return a->index < b->index; });
    std::int64_t most = 0;
    bool exact = true;
    for (std::size_t i = 0; i < peaks_.size(); ++i) {
      most = std::max(most, peaks_[i].bytes);
      exact = exact && peaks_[i].exact;
      if (i >= rows.size() || rows[i]->action != to_text(peaks_[i].action))
        return;  // conformance names it; the floor fails here
      compare(*rows[i], peaks_[i]);
    }
    for (const auto& row : step_rows(rank_.memory, step)) compare_peak_of_step(row, most, exact);
  }

  bool lacking() const { return lacking_; }

 private:
  static bool agrees(std::int64_t measured, std::int64_t predicted, bool exact) {
    return exact ? measured == predicted : measured <= predicted;
  }

  void compare(const ActionRow& row, const PredictedPeak& peak) {
    if (!row.peak_bytes && may_lack_) {
      lacking_ = true;
      return;
    }
    judgement_.compare("actions");
    if (row.peak_bytes && agrees(*row.peak_bytes, peak.bytes, peak.exact)) return;
    const std::string got = row.peak_bytes ? std::to_string(*row.peak_bytes) : "absent";
    const auto difference = row.peak_bytes.value_or(0) - peak.bytes;
    report(row.step, row.index, row.action, peak.bytes, got,
           whose_ + "rank " + std::to_string(rank_.rank) + ", " + step_words(row.step) + ", action " + row.action +
               " (index " + std::to_string(row.index) + ", predicted peak in " + peak.unit + "): " + got +
               " bytes of activations, predicted " + std::to_string(peak.bytes) + " (" + (difference > 0 ? "+" : "") +
               std::to_string(difference) + ")");
  }

  void compare_peak_of_step(const MemoryRow& row, std::int64_t most, bool exact) {
    if (!row.activation_peak_bytes && may_lack_) {
      lacking_ = true;
      return;
    }
    judgement_.compare("activation_peaks");
    if (row.activation_peak_bytes && agrees(*row.activation_peak_bytes, most, exact)) return;
    const std::string got = row.activation_peak_bytes ? std::to_string(*row.activation_peak_bytes) : "absent";
    report(row.step, 1'000'000'000, "activation_peak_bytes", most, got,
           whose_ + "rank " + std::to_string(rank_.rank) + ", " + step_words(row.step) + ": activation_peak_bytes is " +
               got + ", the law gives " + std::to_string(most));
  }

  void report(std::int64_t step, std::int64_t index, const std::string& item, std::int64_t expected,
              const std::string& got, const std::string& words) {
    judgement_.diverge(beside(step, index, rank_.rank), step, rank_.rank, item, std::to_string(expected), got, words);
  }

  std::string whose_;
  const RankRecord& rank_;
  const std::vector<PredictedPeak>& peaks_;
  bool may_lack_;
  Judgement& judgement_;
  bool lacking_ = false;
};

/// The law holds for the reference as well: one device, one microbatch after the other.
void compare_reference(const CellEvidence& evidence, const SavedTable& saved, const std::vector<std::int64_t>& bytes,
                       Judgement& judgement) {
  if (evidence.reference.manifest.role != "reference") return;
  ActionList list;
  for (std::int32_t m = 0; m < static_cast<std::int32_t>(evidence.microbatches()); ++m) {
    list.push_back({0, ActionType::forward, m});
    list.push_back({0, ActionType::backward, m});
  }
  const auto peaks = predict_peaks(list, evidence.reference_stages, saved, bytes);
  PeakComparison comparison("reference, ", evidence.reference.ranks.at(0), peaks, false, judgement);
  for (std::int64_t step = 0; step < evidence.steps(); ++step) comparison.step(step);
}

}  // namespace

void compare_saved_bytes(const CellEvidence& evidence, Judgement& judgement) {
  const auto kernel = attention_kernel(evidence.reference.manifest);
  const std::string no_form = why_no_layer_form(evidence.model, kernel);
  if (!no_form.empty()) judgement.leave_out("the closed form of what a layer keeps (" + no_form + ")");
  for (const auto& [key, row] : saved_table(evidence.reference)) {
    if (!no_form.empty() && is_layer(row.unit)) continue;
    const auto& sizes = evidence.reference_rows.microbatches(0, row.microbatch);
    const auto shape = sizes.empty() ? MicrobatchShape{}
                                     : MicrobatchShape{sizes.front().row->batch, sizes.front().row->sequence_length};
    const auto expected = saved_bytes(evidence.model, row.unit, shape, evidence.reference.manifest.dtype, kernel);
    judgement.look_at("saved_cells");
    if (expected && *expected == row.saved_bytes) continue;
    FirstDivergence divergence;
    divergence.step = 0;
    divergence.microbatch = row.microbatch;
    divergence.item = row.unit;
    divergence.expected = expected ? std::to_string(*expected) : "a unit of the model";
    divergence.got = std::to_string(row.saved_bytes);
    divergence.words = "reference: " + row.unit + " keeps " + divergence.got + " bytes for backward of microbatch " +
                       std::to_string(row.microbatch) + " (" + std::to_string(shape.batch * shape.sequence) +
                       " tokens); its closed form gives " + divergence.expected;
    judgement.diverge(beside(-1, row.microbatch, evidence.model.unit_position(row.unit).value_or(0)),
                      std::move(divergence));
  }
}

std::vector<std::string> compare_activations(const CellEvidence& evidence, Judgement& judgement) {
  std::vector<std::string> lacking;
  const SavedTable saved = saved_table(evidence.reference);
  if (saved.empty()) lacking.push_back("saved.csv of the reference");
  if (!evidence.compute_list) lacking.push_back("a schedule.csv that can be followed");
  if (!same_shapes_in_all_steps(evidence)) lacking.push_back("equal shapes in all steps (saved.csv is of one step)");
  if (!lacking.empty()) return lacking;

  const bool may_lack = evidence.candidate.manifest.role == "external";
  const auto bytes = boundary_bytes(evidence.reference_rows, evidence.reference.manifest, 0, evidence.model.hidden);
  bool cells_lack = false;
  std::vector<std::int64_t> predicted(evidence.compute_list->ranks.size(), 0);
  for (const auto& rank : evidence.candidate.ranks) {
    if (rank.rank >= static_cast<std::int64_t>(evidence.compute_list->ranks.size())) continue;
    const auto& list = evidence.compute_list->ranks[static_cast<std::size_t>(rank.rank)];
    const auto peaks = predict_peaks(list, evidence.stages, saved, bytes);
    for (const auto& peak : peaks) {
      auto& most = predicted[static_cast<std::size_t>(rank.rank)];
      most = std::max(most, peak.bytes);
    }
    PeakComparison comparison("", rank, peaks, may_lack, judgement);
    for (std::int64_t step = 0; step < evidence.steps(); ++step) comparison.step(step);
    judgement.look_at("ranks");
    cells_lack = cells_lack || comparison.lacking();
  }
  compare_reference(evidence, saved, bytes, judgement);
  judgement.predicted_peaks(std::move(predicted));
  if (cells_lack) lacking.push_back("peak_bytes or activation_peak_bytes");
  return lacking;
}

}  // namespace plumbline::judging
