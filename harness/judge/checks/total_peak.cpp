#include "harness/judge/checks/total_peak.hpp"

#include <algorithm>
#include <limits>
#include <map>

#include "harness/judge/checks/memory_places.hpp"
#include "support/safetensors.hpp"

namespace plumbline::judging {
namespace {

/// Bytes of the tensors that a rank dumps, by step.
std::map<std::int64_t, std::int64_t> dumped_bytes(const RankRecord& rank) {
  std::map<std::int64_t, std::int64_t> bytes;
  for (const auto& row : rank.tensors) {
    bytes[row.step] += elements(row.shape) * static_cast<std::int64_t>(dtype_size(row.dtype));
  }
  for (const auto& row : rank.boundaries) bytes[row.step] += row.bytes;
  return bytes;
}

class PeakBounds {
 public:
  PeakBounds(const CellEvidence& evidence, const Record& record)
      : evidence_(evidence), dumps_(record.manifest.level == RecordLevel::dump) {
    const auto size = static_cast<std::int64_t>(dtype_size(record.manifest.dtype));
    for (const auto& parameter : evidence.model.parameters) {
      one_copy_ = std::max(one_copy_, elements(parameter.shape) * size);
    }
    for (std::int64_t step = 0; step < evidence.steps(); ++step) {
      std::int64_t& data = data_[step];
      for (std::int64_t microbatch = 0; microbatch < evidence.microbatches(); ++microbatch) {
        for (const auto& placed : evidence.reference_rows.microbatches(step, microbatch)) {
          const std::int64_t positions = placed.row->batch * placed.row->sequence_length;
          one_copy_ = std::max(one_copy_, positions * evidence.model.hidden * size);
          data += 2 * 2 * positions * id_bytes + loss_bytes;
        }
      }
    }
    if (evidence.model.tied) tied_uses_ = 2 * evidence.model.vocabulary * evidence.model.hidden * size;
    // A peer thread frees what it was handed while this one adds: of two counts one may be ahead of the other.
    if (record.manifest.transport == "threads") buffers_counted_ = 2;
    // A list's order may keep the gradients of any number of microbatches until their turn comes.
    listed_ = record.manifest.accumulation == "listed";
  }

  static std::int64_t state(const MemoryRow& row) {
    return *row.parameter_bytes + *row.gradient_bytes + *row.optimizer_bytes + *row.table_bytes;
  }
  static std::int64_t least(const MemoryRow& row) {
    return std::max(*row.live_bytes, state(row) + std::max(*row.activation_peak_bytes, *row.other_peak_bytes));
  }
  std::int64_t most(const MemoryRow& row, std::int64_t dumped) const {
    if (listed_) return std::numeric_limits<std::int64_t>::max();
    return state(row) + *row.activation_peak_bytes + buffers_counted_ * *row.buffer_bytes + *row.other_peak_bytes +
           data_.at(row.step) + one_copy_ + (dumps_ ? dumped + tied_uses_ : 0);
  }

 private:
  static constexpr std::int64_t id_bytes = 8, loss_bytes = 4;

  const CellEvidence& evidence_;
  bool dumps_, listed_ = false;
  std::int64_t one_copy_ = 0, buffers_counted_ = 1;
  std::int64_t tied_uses_ = 0;                 ///< dumped beside what tensors.csv lists: the gradient of either use
  std::map<std::int64_t, std::int64_t> data_;  ///< by step
};

}  // namespace

void compare_total_peak(const CellEvidence& evidence, const MemorySteps& memory, Judgement& judgement) {
  if (!memory.counts_owners()) return;  // told where owners are compared
  const Record& record = memory.record();
  const PeakBounds bounds(evidence, record);
  for (const auto& rank : record.ranks) {
    const auto dumped = dumped_bytes(rank);
    for (std::int64_t step = 0; step < evidence.steps(); ++step) {
      const MemoryRow* row = memory.find(rank.rank, step);
      if (row == nullptr) continue;
      judgement.compare_or_look_at(&record == &evidence.candidate, "total_peaks");
      const auto found = dumped.find(step);
      const std::int64_t least = PeakBounds::least(*row);
      const std::int64_t most = bounds.most(*row, found == dumped.end() ? 0 : found->second);
      if (*row->peak_bytes >= least && *row->peak_bytes <= most) continue;
      const std::string expected = "at least " + std::to_string(least) + " and at most " + std::to_string(most);
      report_memory(
          judgement, MemoryPlace::total_peak, memory.whose(), step, rank.rank, "peak_bytes", expected,
          std::to_string(*row->peak_bytes),
          "what its row says lives at once (state, tables, the larger of activation_peak_bytes and other_peak_bytes), and "
          "what may beside it (buffers, data, the recorder's copies)");
    }
  }
}

}  // namespace plumbline::judging
