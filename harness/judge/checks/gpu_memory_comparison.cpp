#include "harness/judge/checks/gpu_memory_comparison.hpp"

#include <algorithm>

#include "harness/judge/evidence/step_rows.hpp"
#include "support/text.hpp"

namespace plumbline::judging {
namespace {

const MemoryRow* memory_of(const RankRecord& rank, std::int64_t step) {
  const auto rows = step_rows(rank.memory, step);
  return rows.empty() ? nullptr : &rows.front();
}

class RecordComparison {
 public:
  RecordComparison(const Record& record, std::string whose, Judgement& judgement)
      : record_(record),
        whose_(std::move(whose)),
        one_process_(record.manifest.transport == "threads"),
        peaks_of_all_(peaks_of_all(record)),
        judgement_(judgement) {}

  void ranks() {
    for (const auto& rank : record_.ranks) {
      if (rank.gpu_memory.empty()) {
        lack("gpu_memory.csv of the " + whose_);
        continue;
      }
      peak_so_far_ = 0;
      for (const auto& row : rank.gpu_memory) row_of(rank, row);
    }
  }

  /// By rank, in bytes.
  std::string measured() const {
    std::vector<std::string> asked, reserved, beside;
    for (const auto& rank : record_.ranks) {
      if (rank.gpu_memory.empty()) continue;
      GpuMemoryRow most;
      std::int64_t most_beside = 0;
      for (const auto& row : rank.gpu_memory) {
        most.requested_peak_bytes = std::max(most.requested_peak_bytes, row.requested_peak_bytes);
        most.reserved_peak_bytes = std::max(most.reserved_peak_bytes, row.reserved_peak_bytes);
        most_beside = std::max(most_beside, row.total_bytes - row.free_bytes - row.reserved_bytes);
      }
      asked.push_back(std::to_string(most.requested_peak_bytes));
      reserved.push_back(std::to_string(most.reserved_peak_bytes));
      beside.push_back(std::to_string(most_beside));
    }
    if (asked.empty()) return "";
    return std::string("on the GPU, bytes by rank") + (one_process_ ? " (all of one process)" : "") +
           ": asked of the allocator " + join(asked, ", ") + "; reserved by it " + join(reserved, ", ") +
           "; beside it at most " + join(beside, ", ") + " (context, NCCL, and other processes on that GPU)";
  }

  std::vector<std::string> lacking;

 private:
  void row_of(const RankRecord& rank, const GpuMemoryRow& row) {
    judgement_.compare_or_look_at(whose_ == "candidate", "gpu_rows");
    requested(rank, row);
    const auto demand = [&](bool holds, const char* item, std::int64_t got, const std::string& expected,
                            const char* words) {
      if (!holds) diverge(row.step, rank.rank, item, expected, std::to_string(got), words);
    };
    demand(row.reserved_peak_bytes >= row.requested_peak_bytes, "reserved_peak_bytes", row.reserved_peak_bytes,
           "at least " + std::to_string(row.requested_peak_bytes),
           "the allocator serves requests from what it reserved");
    demand(row.reserved_bytes <= row.reserved_peak_bytes, "reserved_bytes", row.reserved_bytes,
           "at most " + std::to_string(row.reserved_peak_bytes),
           "a peak is no less than what stands at the step's end");
    demand(row.total_bytes > 0 && row.free_bytes >= 0 && row.total_bytes - row.free_bytes >= row.reserved_bytes,
           "free_bytes", row.free_bytes, "at most " + std::to_string(row.total_bytes - row.reserved_bytes),
           "what the allocator reserved is not free");
  }

  void requested(const RankRecord& rank, const GpuMemoryRow& row) {
    const MemoryRow* own = memory_of(rank, row.step);
    if (own == nullptr || !own->peak_bytes) return lack("peak_bytes of the " + whose_);
    if (!one_process_) {
      if (row.requested_peak_bytes == *own->peak_bytes) return;
      return diverge(row.step, rank.rank, "requested_peak_bytes", std::to_string(*own->peak_bytes),
                     std::to_string(row.requested_peak_bytes),
                     "the allocator's own peak against peak_bytes of memory.csv, two counts of the same bytes");
    }
    peak_so_far_ = std::max(peak_so_far_, *own->peak_bytes);
    const auto& most = peaks_of_all_;
    if (peak_so_far_ <= row.requested_peak_bytes && (!most || row.requested_peak_bytes <= *most)) return;
    diverge(row.step, rank.rank, "requested_peak_bytes",
            "at least " + std::to_string(peak_so_far_) + (most ? " and at most " + std::to_string(*most) : ""),
            std::to_string(row.requested_peak_bytes),
            "the process' peak against this rank's own and against the sum of all ranks' peaks");
  }

  /// Nothing where a rank does not say its peaks.
  static std::optional<std::int64_t> peaks_of_all(const Record& record) {
    std::int64_t sum = 0;
    for (const auto& rank : record.ranks) {
      std::int64_t most = 0;
      for (const auto& row : rank.memory) {
        if (!row.peak_bytes) return std::nullopt;
        most = std::max(most, *row.peak_bytes);
      }
      sum += most;
    }
    return sum;
  }

  void lack(const std::string& what) {
    if (std::ranges::find(lacking, what) == lacking.end()) lacking.push_back(what);
  }

  void diverge(std::int64_t step, std::int64_t rank, const std::string& item, const std::string& expected,
               const std::string& got, const std::string& words) {
    judgement_.diverge(beside(step, before_actions, rank), step, rank, item, expected, got,
                       whose_ + ", rank " + std::to_string(rank) + ", " + step_words(step) + ": " + item + " is " +
                           got + ", expected " + expected + ": " + words);
  }

  /// In its step it stands before all actions, like the other figures of a whole step.
  static constexpr std::int64_t before_actions = -5;

  const Record& record_;
  std::string whose_;
  bool one_process_;
  std::optional<std::int64_t> peaks_of_all_;
  Judgement& judgement_;
  std::int64_t peak_so_far_ = 0;
};

}  // namespace

GpuMemoryFinding compare_gpu_memory(const CellEvidence& evidence, Judgement& judgement) {
  GpuMemoryFinding finding;
  const auto compare = [&](const Record& record, const char* whose) {
    if (record.manifest.device == "cpu") return std::string();
    RecordComparison comparison(record, whose, judgement);
    comparison.ranks();
    finding.lacking.insert(finding.lacking.end(), comparison.lacking.begin(), comparison.lacking.end());
    finding.rows_wanted += static_cast<std::int64_t>(record.ranks.size()) * record.manifest.steps;
    return comparison.measured();
  };
  compare(evidence.reference, "reference");
  finding.measured = compare(evidence.candidate, "candidate");
  return finding;
}

}  // namespace plumbline::judging
