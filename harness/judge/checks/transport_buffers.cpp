// SPDX-License-Identifier: BSD-3-Clause
// Bytes of the transport's buffers.
#include <fmt/format.h>

#include <algorithm>

#include "harness/judge/checks/memory_part.hpp"
#include "harness/judge/expected/expected_traffic.hpp"
#include "record/precision.hpp"
#include "support/elements.hpp"

namespace plumbline::judging {
namespace {

/// In each step the candidate has at most the buffers of all messages that its list allows in flight at once. Counts
/// buffer_cells.
class TransportBuffersPart : public MemoryPart {
 public:
  explicit TransportBuffersPart(const CellEvidence& evidence)
      : MemoryPart(evidence),
        // REDUCE: one tied gradient received and one sent.
        tied_(2 * evidence.model.vocabulary * evidence.model.hidden *
              static_cast<std::int64_t>(dtype_size(trained_dtype(evidence.candidate.manifest.dtype)))) {}

  void step(const StepEvidence& now, const BothMemories& memory) override {
    if (!evidence_.lowered_list) return;
    bound(now.boundary_bytes());
    for (const auto& [rank, row] : memory.candidate.rows()) {
      if (rank >= std::ssize(bounds_)) continue;
      if (!row->buffer_bytes) {
        lack("buffer_bytes");
        continue;
      }
      const std::int64_t most = bounds_[static_cast<std::size_t>(rank)] + between_replicas(*row);
      builder_.compare("buffer_cells");
      largest_buffer_ = std::max(largest_buffer_, *row->buffer_bytes);
      largest_bound_ = std::max(largest_bound_, most);
      if (*row->buffer_bytes <= most) continue;
      report_memory(builder_, OffPath::buffers, memory.candidate.whose(), now.step, rank, "buffer_bytes",
                    "at most " + std::to_string(most), std::to_string(*row->buffer_bytes),
                    "transport buffers exceed all messages that the schedule can have in flight");
    }
  }

  void conclude(const BothMemories& memory, MemoryFindings& findings) override {
    if (!evidence_.lowered_list) findings.lack("a schedule.csv that can be followed");
    MemoryPart::conclude(memory, findings);
    findings.measured.push_back(
        fmt::format("transport buffers at most {} of {} bytes", largest_buffer_, largest_bound_));
  }

 private:
  /// What is received of three buckets of gradients, and the losses of the step.
  std::int64_t between_replicas(const MemoryRow& row) const {
    const Manifest& manifest = evidence_.candidate.manifest;
    if (!manifest.part_of_step()) return 0;
    constexpr std::int64_t buckets = 3, bucket_bytes = std::int64_t{4} << 20, loss_bytes = 4;
    return std::min(row.gradient_bytes.value_or(0), buckets * bucket_bytes) +
           2 * loss_bytes * manifest.microbatches_of_step();
  }

  /// Sizes usually equal those of the previous step.
  void bound(std::vector<std::int64_t> bytes) {
    if (!bounds_.empty() && bytes == bytes_) return;
    bytes_ = std::move(bytes);
    bounds_.clear();
    for (const auto& list : evidence_.lowered_list->ranks)
      bounds_.push_back(buffer_bound(list, evidence_.stages, bytes_, tied_));
  }

  const std::int64_t tied_;
  std::vector<std::int64_t> bytes_;   ///< of a boundary tensor, by microbatch
  std::vector<std::int64_t> bounds_;  ///< by rank, for `bytes_`
  std::int64_t largest_buffer_ = 0, largest_bound_ = 0;
};

}  // namespace

std::unique_ptr<MemoryPart> transport_buffers_part(const CellEvidence& evidence) {
  return std::make_unique<TransportBuffersPart>(evidence);
}

}  // namespace plumbline::judging
