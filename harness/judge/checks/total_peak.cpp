// SPDX-License-Identifier: BSD-3-Clause
#include "harness/judge/checks/total_peak.hpp"

#include <algorithm>

#include "harness/judge/expected/kept_gradients.hpp"
#include "record/precision.hpp"
#include "support/elements.hpp"

namespace plumbline::judging {
namespace {

/// Bytes of the tensors that a rank dumps in the step.
std::int64_t dumped_bytes(const RankRecord& rank) {
  std::int64_t bytes = 0;
  for (const auto& row : rank.tensors)
    bytes += element_count(row.shape) * static_cast<std::int64_t>(dtype_size(row.dtype));
  for (const auto& row : rank.boundaries) bytes += row.bytes;
  return bytes;
}

/// Upper bound of a step's peak.
class LargestPeak {
 public:
  LargestPeak(const CellEvidence& evidence, const Record& record)
      : manifest_(record.manifest),
        hidden_(evidence.model.hidden),
        size_(static_cast<std::int64_t>(dtype_size(trained_dtype(record.manifest.dtype)))),
        dumps_(record.manifest.level == RecordLevel::dump) {
    const std::int64_t size = size_;
    for (const auto& parameter : evidence.model.parameters) {
      one_copy_ = std::max(one_copy_, element_count(parameter.shape) * size);
    }
    if (evidence.model.tied) tied_uses_ = 2 * evidence.model.vocabulary * evidence.model.hidden * size;
    // A peer thread frees received tensors concurrently: one of the two counts may be ahead of the other.
    if (record.manifest.transport == "threads") buffers_counted_ = 2;
  }

  void go_to(const StepEvidence& now) {
    data_ = 0;
    for (std::int64_t microbatch = 0; microbatch < now.cell.microbatches(); ++microbatch) {
      for (const auto& placed : now.reference_rows.microbatches(microbatch)) {
        const std::int64_t positions = placed.row->batch * placed.row->sequence_length;
        one_copy_ = std::max(one_copy_, positions * hidden_ * size_);
        data_ += 2 * 2 * positions * id_bytes + loss_bytes;
      }
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

/// Of one record.
class TotalPeaks {
 public:
  TotalPeaks(const CellEvidence& evidence, const Record& record, CheckResultBuilder builder)
      : of_candidate_(&record == &evidence.candidate), largest_(evidence, record), builder_(std::move(builder)) {}

  void step(const StepEvidence& now, const MemorySteps& memory) {
    if (!memory.counts_owners()) return;  // reported by the comparison of owners
    largest_.go_to(now);
    for (const auto& rank : memory.record().ranks) {
      const MemoryRow* row = memory.find(rank.rank);
      if (row == nullptr) continue;
      builder_.compare_or_inspect(of_candidate_, "total_peaks");
      const std::int64_t most = largest_.most(*row, dumped_bytes(rank));
      if (*row->peak_bytes <= most) continue;
      report_memory(builder_, OffPath::total_peak, memory.whose(), now.step, rank.rank, "peak_bytes",
                    "at most " + std::to_string(most), std::to_string(*row->peak_bytes),
                    "state, tables, activation_peak_bytes, other_peak_bytes and what may be alive with them (buffers, "
                    "data, gradients that a listed order keeps, the recorder's copies)");
    }
  }

  void conclude(const MemorySteps& memory, MemoryFindings& findings) {
    if (memory.counts_owners()) findings.builder.absorb(std::move(builder_));
  }

 private:
  bool of_candidate_;
  LargestPeak largest_;
  CheckResultBuilder builder_;
};

class TotalPeakPart : public MemoryPart {
 public:
  explicit TotalPeakPart(const CellEvidence& evidence)
      : reference_(evidence, evidence.reference, part()), candidate_(evidence, evidence.candidate, part()) {}

  void step(const StepEvidence& now, const BothMemories& memory) override {
    reference_.step(now, memory.reference);
    candidate_.step(now, memory.candidate);
  }

  void conclude(const BothMemories& memory, MemoryFindings& findings) override {
    reference_.conclude(memory.reference, findings);
    candidate_.conclude(memory.candidate, findings);
  }

 private:
  TotalPeaks reference_, candidate_;
};

}  // namespace

std::unique_ptr<MemoryPart> total_peak_part(const CellEvidence& evidence) {
  return std::make_unique<TotalPeakPart>(evidence);
}

}  // namespace plumbline::judging
