// SPDX-License-Identifier: BSD-3-Clause
// Bounds of peak_bytes and live_bytes by the other columns of memory.csv.
#include <algorithm>
#include <optional>

#include "harness/judge/checks/memory_part.hpp"
#include "record/precision.hpp"
#include "support/elements.hpp"

namespace plumbline::judging {
namespace {

using Bytes = std::optional<std::int64_t>;

Bytes sum(const Bytes& left, const Bytes& right) {
  return left && right ? Bytes(*left + *right) : std::nullopt;
}

/// A reference with a listed order keeps each microbatch's gradients and adds them at the end: as many copies as
/// microbatches, besides the sums. A pipeline's own list is that order, so it keeps none. nullopt if the record does
/// not state the size of its gradients.
Bytes kept_gradient_bytes(const Manifest& manifest, const MemoryRow& row) {
  if (manifest.role != "reference" || manifest.accumulation != "listed") return 0;
  if (!row.gradient_bytes) return std::nullopt;
  return manifest.microbatches * *row.gradient_bytes;
}

/// Bytes of the tensors that a rank dumps in the step.
std::int64_t dumped_bytes(const RankRecord& rank) {
  std::int64_t bytes = 0;
  for (const auto& row : rank.tensors)
    bytes += element_count(row.shape) * static_cast<std::int64_t>(dtype_size(row.dtype));
  for (const auto& row : rank.boundaries) bytes += row.bytes;
  return bytes;
}

/// Upper bound of a step's peak: the sum of model state and tables, the peaks of activations, transport buffers and
/// other bytes, the ids and labels of all microbatches (once for the first stage and once for the last), the gradients
/// kept for a listed order, and the recorder's copies (of one tensor; at level dump, of all dumped tensors).
class LargestPeak {
 public:
  LargestPeak(const CellEvidence& evidence, const Record& record)
      : manifest_(record.manifest),
        hidden_(evidence.model.hidden),
        size_(static_cast<std::int64_t>(dtype_size(trained_dtype(record.manifest.dtype)))),
        dumps_(record.manifest.level == RecordLevel::dump) {
    for (const auto& parameter : evidence.model.parameters) {
      one_copy_ = std::max(one_copy_, element_count(parameter.shape) * size_);
    }
    if (evidence.model.tied) tied_uses_ = 2 * evidence.model.vocabulary * evidence.model.hidden * size_;
    // A peer thread frees received tensors concurrently: one of the two counts may be ahead of the other.
    if (record.manifest.transport == "threads") buffers_counted_ = 2;
  }

  void go_to(const StepEvidence& now) {
    data_ = 0;
    for (const auto& row : now.cell.reference.ranks.at(0).microbatches) {
      const std::int64_t positions = row.batch * row.sequence_length;
      one_copy_ = std::max(one_copy_, positions * hidden_ * size_);
      data_ += 2 * 2 * positions * id_bytes + loss_bytes;
    }
  }

  std::int64_t most(const MemoryRow& row, std::int64_t dumped) const {
    const std::int64_t state = *row.parameter_bytes + *row.gradient_bytes + *row.optimizer_bytes + *row.table_bytes;
    return state + *row.activation_peak_bytes + buffers_counted_ * *row.buffer_bytes + *row.other_peak_bytes + data_ +
           kept_gradient_bytes(manifest_, row).value_or(0) + one_copy_ + (dumps_ ? dumped + tied_uses_ : 0);
  }

 private:
  static constexpr std::int64_t id_bytes = 8, loss_bytes = 4;

  const Manifest& manifest_;
  std::int64_t hidden_, size_;
  bool dumps_;
  std::int64_t one_copy_ = 0, buffers_counted_ = 1;
  std::int64_t tied_uses_ = 0;  ///< dumped in addition to the rows of tensors.csv: the gradient of either use
  std::int64_t data_ = 0;       ///< ids, labels and losses of the step
};

/// The columns of one row that the peak must cover.
class LowerBounds {
 public:
  LowerBounds(const MemorySteps& memory, std::int64_t rank, const MemoryRow& row, CheckResultBuilder& builder)
      : memory_(memory), rank_(rank), row_(row), builder_(builder) {}

  void compare() {
    const Bytes values = sum(row_.parameter_bytes, row_.gradient_bytes);
    const Bytes state = sum(values, row_.optimizer_bytes);
    at_least("peak_bytes", row_.peak_bytes, state, "parameters, gradients and optimiser state");
    at_least("peak_bytes", row_.peak_bytes, sum(values, row_.activation_peak_bytes),
             "parameters, gradients and the activations' peak");
    at_least("peak_bytes", row_.peak_bytes, row_.live_bytes, "the bytes alive at the step's end");
    if (memory_.counts_owners()) {
      // Ordered after the owners' limits: an owner's excess is more specific than a peak that is too low.
      const Bytes tables = sum(state, row_.table_bytes);
      const Bytes beside = std::max(*row_.activation_peak_bytes, *row_.other_peak_bytes);
      at_least("peak_bytes", row_.peak_bytes, sum(tables, beside),
               "model state, tables and the larger of activation_peak_bytes and other_peak_bytes", OffPath::total_peak);
      at_least("peak_bytes", row_.peak_bytes, sum(tables, kept_gradient_bytes(memory_.record().manifest, row_)),
               "model state, tables and the gradients that a listed order keeps of each microbatch",
               OffPath::total_peak);
    }
    at_least("live_bytes", row_.live_bytes, state, "parameters, gradients and optimiser state");
    if (memory_.record().manifest.role == "reference" && row_.buffer_bytes.value_or(0) != 0)
      report("buffer_bytes", "0", *row_.buffer_bytes, "one device sends nothing", OffPath::bounds);
  }

 private:
  void at_least(const std::string& item, const Bytes& value, const Bytes& least, const std::string& what,
                OffPath place = OffPath::bounds) {
    if (!value || !least) return;
    builder_.inspect("memory_bounds");
    if (*value >= *least) return;
    report(item, "at least " + std::to_string(*least), *value, "less than " + what, place);
  }

  void report(const std::string& item, const std::string& expected, std::int64_t got, const std::string& why,
              OffPath place) {
    report_memory(builder_, place, memory_.whose(), row_.step, rank_, item, expected, std::to_string(got), why);
  }

  const MemorySteps& memory_;
  std::int64_t rank_;
  const MemoryRow& row_;
  CheckResultBuilder& builder_;
};

/// For every rank and step of both records: the peak is at least the model state, the state's parameters and gradients
/// plus the activation peak, and the bytes alive at the step's end, which are at least the model state; a reference has
/// no transport buffers. Empty cells of an external record imply nothing. Our own trainers allocate model state and
/// tables before the first action, so their peak is at least these plus the larger of the peaks of activations and
/// other bytes; if a reference sums in a listed order, plus the gradients of all microbatches. If a record counts bytes
/// by owner, its peak is at most LargestPeak.
class PeakBoundsPart : public MemoryPart {
 public:
  explicit PeakBoundsPart(const CellEvidence& evidence)
      : MemoryPart(evidence),
        largest_of_reference_(evidence, evidence.reference),
        largest_of_candidate_(evidence, evidence.candidate) {}

  void step(const StepEvidence& now, const BothMemories& memory) override {
    compare(now, memory.reference, largest_of_reference_, most_of_reference_);
    compare(now, memory.candidate, largest_of_candidate_, most_of_candidate_);
  }

  void conclude(const BothMemories& memory, MemoryFindings& findings) override {
    MemoryPart::conclude(memory, findings);
    if (memory.reference.counts_owners()) findings.builder.absorb(std::move(most_of_reference_));
    if (memory.candidate.counts_owners()) findings.builder.absorb(std::move(most_of_candidate_));
  }

 private:
  void compare(const StepEvidence& now, const MemorySteps& memory, LargestPeak& largest, CheckResultBuilder& builder) {
    largest.go_to(now);
    for (const auto& [rank, row] : memory.rows()) {
      LowerBounds(memory, rank, *row, builder_).compare();
      if (!memory.counts_owners()) continue;  // reported by the comparison of owners
      builder.compare_or_inspect(&memory.record() == &evidence_.candidate, "total_peaks");
      const std::int64_t most = largest.most(*row, dumped_bytes(memory.record().ranks[static_cast<std::size_t>(rank)]));
      if (*row->peak_bytes <= most) continue;
      report_memory(builder, OffPath::total_peak, memory.whose(), row->step, rank, "peak_bytes",
                    "at most " + std::to_string(most), std::to_string(*row->peak_bytes),
                    "state, tables, activation_peak_bytes, other_peak_bytes and what may be alive with them (buffers, "
                    "data, gradients that a listed order keeps, the recorder's copies)");
    }
  }

  LargestPeak largest_of_reference_, largest_of_candidate_;
  CheckResultBuilder most_of_reference_ = builder_, most_of_candidate_ = builder_;
};

}  // namespace

std::unique_ptr<MemoryPart> peak_bounds_part(const CellEvidence& evidence) {
  return std::make_unique<PeakBoundsPart>(evidence);
}

}  // namespace plumbline::judging
