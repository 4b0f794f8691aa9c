// SPDX-License-Identifier: BSD-3-Clause
// Compares the memory figures of LibTorch's allocator and of the GPU with the run's own counts.
#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "harness/judge/checks/memory_part.hpp"
#include "support/text.hpp"

namespace plumbline::judging {
namespace {

/// gpu_memory.csv of one record.
class OfRecord {
 public:
  OfRecord(const Record& record, std::string whose, CheckResultBuilder& builder)
      : record_(record),
        whose_(std::move(whose)),
        one_process_(record.manifest.transport == "threads"),
        builder_(builder),
        ranks_(record.ranks.size()) {}

  void step() {
    for (std::size_t i = 0; i < ranks_.size(); ++i) {
      const RankRecord& rank = record_.ranks[i];
      for (const auto& row : rank.memory) {
        has_all_peaks_ = has_all_peaks_ && row.peak_bytes;
        ranks_[i].peak = std::max(ranks_[i].peak, row.peak_bytes.value_or(0));
      }
      for (const auto& row : rank.gpu_memory) row_of(rank, ranks_[i], row);
    }
    settle();
  }

  void conclude() {
    for (const Rank& rank : ranks_)
      if (!rank.any) lack("gpu_memory.csv of the " + whose_);
    // If ranks are threads of one process, the sum of their peaks is known only after the last step.
    const auto most = peaks_of_all();
    for (const Open& open : open_) {
      if (open.own_peak <= open.asked && (!most || open.asked <= *most)) continue;
      diverge(open.step, open.rank, "requested_peak_bytes",
              fmt::format("at least {}{}", open.own_peak, most ? " and at most " + std::to_string(*most) : ""),
              std::to_string(open.asked),
              "the process' peak against this rank's own and against the sum of all ranks' peaks");
    }
  }

  /// By rank, in bytes.
  std::string measured() const {
    std::vector<std::string> asked, reserved, beside;
    for (const Rank& rank : ranks_) {
      if (!rank.any) continue;
      asked.push_back(std::to_string(rank.asked));
      reserved.push_back(std::to_string(rank.reserved));
      beside.push_back(std::to_string(rank.beside));
    }
    if (asked.empty()) return "";
    return fmt::format(
        "on the GPU, bytes by rank{}: requested from the allocator {}; reserved by it {}; outside it at most {} "
        "(context, NCCL, and other processes on that GPU)",
        one_process_ ? " (all of one process)" : "", join(asked, ", "), join(reserved, ", "), join(beside, ", "));
  }

  const std::vector<std::string>& lacking() const { return lacking_; }
  std::int64_t rows_wanted() const { return std::ssize(record_.ranks) * record_.steps(); }

 private:
  /// Maxima over the steps so far.
  struct Rank {
    bool any = false;       ///< has a row of gpu_memory.csv
    std::int64_t peak = 0;  ///< from memory.csv
    std::int64_t asked = 0, reserved = 0, beside = 0;
  };
  /// A row of one process, judged when all peaks are known.
  struct Open {
    std::int64_t step = 0, rank = 0;
    std::int64_t asked = 0, own_peak = 0;
  };

  void row_of(const RankRecord& rank, Rank& so_far, const GpuMemoryRow& row) {
    so_far.any = true;
    so_far.asked = std::max(so_far.asked, row.requested_peak_bytes);
    so_far.reserved = std::max(so_far.reserved, row.reserved_peak_bytes);
    so_far.beside = std::max(so_far.beside, row.total_bytes - row.free_bytes - row.reserved_bytes);
    builder_.compare_or_inspect(whose_ == "candidate", "gpu_rows");
    requested(rank, so_far.peak, row);
    const auto demand = [&](bool holds, const char* item, std::int64_t got, const std::string& expected,
                            const char* words) {
      if (!holds) diverge(row.step, rank.rank, item, expected, std::to_string(got), words);
    };
    demand(row.reserved_peak_bytes >= row.requested_peak_bytes, "reserved_peak_bytes", row.reserved_peak_bytes,
           "at least " + std::to_string(row.requested_peak_bytes),
           "the allocator serves requests from what it reserved");
    demand(row.reserved_bytes <= row.reserved_peak_bytes, "reserved_bytes", row.reserved_bytes,
           "at most " + std::to_string(row.reserved_peak_bytes), "a peak is at least the value at the step's end");
    demand(row.total_bytes > 0 && row.free_bytes >= 0 && row.total_bytes - row.free_bytes >= row.reserved_bytes,
           "free_bytes", row.free_bytes, "at most " + std::to_string(row.total_bytes - row.reserved_bytes),
           "what the allocator reserved is not free");
  }

  void requested(const RankRecord& rank, std::int64_t own_peak, const GpuMemoryRow& row) {
    const auto own = rank.memory.empty() ? std::nullopt : rank.memory.front().peak_bytes;
    if (!own) return lack("peak_bytes of the " + whose_);
    if (one_process_) return open_.push_back({row.step, rank.rank, row.requested_peak_bytes, own_peak});
    if (row.requested_peak_bytes == *own) return;
    diverge(row.step, rank.rank, "requested_peak_bytes", std::to_string(*own), std::to_string(row.requested_peak_bytes),
            "the allocator's own peak against peak_bytes of memory.csv, two counts of the same bytes");
  }

  /// Drops rows that hold in any case, because peaks only grow.
  void settle() {
    const auto most = peaks_of_all();
    std::erase_if(open_, [&](const Open& open) { return open.own_peak <= open.asked && most && open.asked <= *most; });
  }

  /// nullopt if a rank's peaks are missing.
  std::optional<std::int64_t> peaks_of_all() const {
    if (!has_all_peaks_) return std::nullopt;
    std::int64_t sum = 0;
    for (const Rank& rank : ranks_) sum += rank.peak;
    return sum;
  }

  void lack(const std::string& what) { lacking_.push_back(what); }

  void diverge(std::int64_t step, std::int64_t rank, const std::string& item, const std::string& expected,
               const std::string& got, const std::string& words) {
    report_memory(builder_, OffPath::gpu, whose_, step, rank, item, expected, got, words);
  }

  const Record& record_;
  std::string whose_;
  bool one_process_;
  CheckResultBuilder& builder_;
  std::vector<std::string> lacking_;
  std::vector<Rank> ranks_;
  std::vector<Open> open_;
  bool has_all_peaks_ = true;
};

/// gpu_memory.csv of each record made on GPUs, by rank and step. Does nothing for runs on CPUs.
///
/// `requested_peak_bytes` is the allocator's count of the bytes that memory.csv counts by observation. In a process
/// with one rank both are reset at the step's start and no other thread allocates, so they are equal. If ranks are
/// threads of one process (manifest: transport "threads"), the allocator has a single count since the process began: it
/// is at least each rank's peak up to that step, and at most the sum of all ranks' peaks, because every byte belongs to
/// a rank.
///
/// In addition, the allocator reserved at least the requested bytes, currently reserves no more than at its peak, and
/// no more than is in use on the GPU. The rest in use is the context, NCCL and other processes: it is measured, without
/// a limit.
///
/// Counts gpu_rows.
class GpuMemoryPart : public MemoryPart {
 public:
  explicit GpuMemoryPart(const CellEvidence& evidence) : MemoryPart(evidence) {
    if (evidence.reference.manifest.device != "cpu") records_.emplace_back(evidence.reference, "reference", builder_);
    if (evidence.candidate.manifest.device != "cpu") records_.emplace_back(evidence.candidate, "candidate", builder_);
  }

  void step(const StepEvidence&, const BothMemories&) override {
    for (auto& record : records_) record.step();
  }

  void conclude(const BothMemories& memory, MemoryFindings& findings) override {
    for (auto& record : records_) {
      record.conclude();
      for (const auto& what : record.lacking()) findings.lack(what);
      findings.floors["gpu_rows"] += record.rows_wanted();
    }
    if (evidence_.candidate.manifest.device != "cpu" && !records_.back().measured().empty())
      findings.measured.push_back(records_.back().measured());
    MemoryPart::conclude(memory, findings);
  }

 private:
  std::vector<OfRecord> records_;
};

}  // namespace

std::unique_ptr<MemoryPart> gpu_memory_part(const CellEvidence& evidence) {
  return std::make_unique<GpuMemoryPart>(evidence);
}

}  // namespace plumbline::judging
