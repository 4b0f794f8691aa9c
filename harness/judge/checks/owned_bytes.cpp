// SPDX-License-Identifier: BSD-3-Clause
// Bytes of tensors other than model state, activations and transport buffers: tables, data, and bytes without an owner.
#include <algorithm>

#include "harness/judge/checks/memory_part.hpp"
#include "record/precision.hpp"
#include "support/elements.hpp"

namespace plumbline::judging {
namespace {

struct ByteColumn {
  const char* name;
  std::optional<std::int64_t> MemoryRow::*bytes;
};
constexpr ByteColumn live_columns[] = {
    {"parameter_bytes", &MemoryRow::parameter_bytes}, {"gradient_bytes", &MemoryRow::gradient_bytes},
    {"optimizer_bytes", &MemoryRow::optimizer_bytes}, {"table_bytes", &MemoryRow::table_bytes},
    {"data_bytes", &MemoryRow::data_bytes},           {"other_bytes", &MemoryRow::other_bytes},
};
/// Columns compared in each step with the reference's.
constexpr ByteColumn bounded_columns[] = {
    {"data_bytes", &MemoryRow::data_bytes},
    {"other_bytes", &MemoryRow::other_bytes},
    {"other_peak_bytes", &MemoryRow::other_peak_bytes},
};

/// The scalar that starts every backward pass, kept from the first one on.
constexpr std::int64_t root_of_backward_bytes = 4;

std::int64_t longest_row(const StepEvidence& now) {
  std::int64_t longest = 0;
  for (const auto& row : now.cell.reference.ranks.at(0).microbatches) longest = std::max(longest, row.sequence_length);
  return longest;
}

std::int64_t largest_parameter(const ExpectedModel& model) {
  std::int64_t largest = 0;
  for (const auto& parameter : model.parameters) largest = std::max(largest, element_count(parameter.shape));
  return largest;
}

/// The step's bytes of one record.
class RecordBytes {
 public:
  RecordBytes(const CellEvidence& evidence, const MemorySteps& memory, const StageMap& stages,
              CheckResultBuilder& builder)
      : evidence_(evidence), memory_(memory), stages_(stages), builder_(builder) {}

  void sums() const {
    for (const auto& [rank, row] : memory_.rows()) {
      std::int64_t sum = 0;
      for (const auto& column : live_columns) sum += (row->*column.bytes).value_or(0);
      builder_.compare_or_inspect(of_candidate(), "owned_sums");
      if (*row->live_bytes == sum) continue;
      report(rank, row->step, "live_bytes", std::to_string(sum), *row->live_bytes,
             "alive at the step's end in addition to model state, tables, data and other");
    }
  }

  /// Bytes that the arithmetic of the single-device run needs.
  void of_one_device(std::int64_t longest_row) const {
    const Manifest& manifest = memory_.record().manifest;
    const auto size = static_cast<std::int64_t>(dtype_size(computed_dtype(manifest.dtype)));
    const std::int64_t tables = 2 * longest_row * evidence_.model.head_dim * size;
    // One parameter's gradient in float64 for its norm, and each norm with its copy.
    const std::int64_t norms =
        8 * (largest_parameter(evidence_.model) + 2 * static_cast<std::int64_t>(evidence_.model.parameters.size()));
    for (const auto& [rank, placed] : memory_.rows()) {
      const MemoryRow& row = *placed;
      at_most(rank, row.step, "table_bytes", tables, *row.table_bytes,
              "cosine and sine of the longest row's positions");
      if (manifest.device != "cpu") continue;  // GPU libraries keep workspaces
      at_most(rank, row.step, "data_bytes", 0, *row.data_bytes, "ids and labels end with their microbatch");
      at_most(rank, row.step, "other_bytes", root_of_backward_bytes, *row.other_bytes,
              "tensors without an owner, at the step's end");
      at_most(rank, row.step, "other_peak_bytes", root_of_backward_bytes + norms, *row.other_peak_bytes,
              "the largest parameter's gradient in float64 for its norm");
    }
  }

  void against(const MemorySteps& reference) const {
    const MemoryRow& one = *reference.rows().at(0).row;
    for (const auto& [rank, placed] : memory_.rows()) {
      const MemoryRow& row = *placed;
      const auto own = stages_.stages_on(rank);
      const auto stages = std::count_if(own.begin(), own.end(),
                                        [&](std::int64_t stage) { return !stages_.find(stage)->units.empty(); });
      at_most(rank, row.step, "table_bytes", stages * *one.table_bytes, *row.table_bytes,
              "the reference's, once for each of the rank's stages that is not empty");
      for (const auto& column : bounded_columns) {
        at_most(rank, row.step, column.name, *(one.*column.bytes), *(row.*column.bytes),
                "the reference's in that step");
      }
    }
  }

 private:
  bool of_candidate() const { return &memory_.record() == &evidence_.candidate; }

  void at_most(std::int64_t rank, std::int64_t step, const char* item, std::int64_t most, std::int64_t got,
               const std::string& words) const {
    builder_.compare_or_inspect(of_candidate(), "owned_cells");
    if (got <= most) return;
    report(rank, step, item, "at most " + std::to_string(most), got, words);
  }

  void report(std::int64_t rank, std::int64_t step, const std::string& item, const std::string& expected,
              std::int64_t got, const std::string& words) const {
    report_memory(builder_, OffPath::owned, memory_.whose(), step, rank, item, expected, std::to_string(got), words);
  }

  const CellEvidence& evidence_;
  const MemorySteps& memory_;
  const StageMap& stages_;
  CheckResultBuilder& builder_;
};

/// For records of our own trainers, at every step's end: live bytes are exactly the sum of model state, tables, data
/// and other bytes; the reference's tables are those of its longest row, and on a CPU its other bytes those that the
/// contract's arithmetic needs; a rank has tables for each of its stages at most, and at most the reference's data and
/// other bytes of the same step, also at their peak. `peak_bytes` is between the bytes that the columns show to be
/// alive at once and the sum of their peaks. Skips and reports what an external or older record does not count.
///
/// Judges each demand separately: only all rows show whether a record divides its bytes by owner.
class OwnedBytesPart : public MemoryPart {
 public:
  using MemoryPart::MemoryPart;

  void step(const StepEvidence& now, const BothMemories& memory) override {
    if (now.step == evidence_.first_step())
      longest_row_ = longest_row(now);  // as in every step of a run whose tables have this length
    const bool reference = memory.reference.counts_owners(), candidate = memory.candidate.counts_owners();
    if (reference) {
      const RecordBytes one(evidence_, memory.reference, evidence_.reference_stages, of_reference_);
      one.sums();
      one.of_one_device(longest_row_);
    }
    if (candidate) RecordBytes(evidence_, memory.candidate, evidence_.stages, of_candidate_).sums();
    if (reference && candidate)
      RecordBytes(evidence_, memory.candidate, evidence_.stages, against_).against(memory.reference);
  }

  void conclude(const BothMemories& memory, MemoryFindings& findings) override {
    const bool reference = memory.reference.counts_owners(), candidate = memory.candidate.counts_owners();
    for (const auto* record : {&memory.reference, &memory.candidate}) {
      if (!record->counts_owners()) findings.builder.leave_out(record->why_no_owners());
    }
    if (reference) findings.builder.absorb(std::move(of_reference_));
    if (candidate) findings.builder.absorb(std::move(of_candidate_));
    if (!reference || !candidate) return;
    if (evidence_.reference.manifest.device != evidence_.candidate.manifest.device) {
      findings.builder.leave_out("other bytes against the reference's (another device)");
      return;
    }
    findings.builder.absorb(std::move(against_));
  }

 private:
  CheckResultBuilder of_reference_ = builder_, of_candidate_ = builder_, against_ = builder_;
  std::int64_t longest_row_ = 0;
};

}  // namespace

std::unique_ptr<MemoryPart> owned_bytes_part(const CellEvidence& evidence) {
  return std::make_unique<OwnedBytesPart>(evidence);
}

}  // namespace plumbline::judging
