#include "harness/judge/checks/process_memory.hpp"

#include <algorithm>

#include "harness/judge/checks/memory_places.hpp"
#include "support/numbers.hpp"

namespace plumbline::judging {
namespace {

constexpr std::int64_t allowed_percent = 5;
constexpr std::int64_t allowed_bytes = 32 << 20;

/// Why the processes cannot be held to a base; empty when they can.
std::string why_no_limit(const CellEvidence& evidence, const MemorySteps& candidate) {
  const Manifest& manifest = evidence.candidate.manifest;
  if (manifest.role == "external") return "another program's";
  if (manifest.transport == "threads") return "the ranks are threads of one process";
  if (manifest.transport != "mpi") return "ranks over " + manifest.transport + " may share a process";
  if (manifest.device != "cpu") return "memory of a GPU's driver and libraries is not told from the run's";
  const auto environment = manifest.json.find("environment");
  if (environment != manifest.json.end() && environment->is_object() &&
      !environment->value("sanitizer", Json(nullptr)).is_null()) {
    return "a sanitizer keeps memory of its own";
  }
  if (!evidence.plan.process_base) {
    return evidence.plan.why_no_process_base.empty() ? "no run was there to measure a base by"
                                                     : evidence.plan.why_no_process_base;
  }
  if (!candidate.counts_owners()) return "memory.csv is of an older program";
  return "";
}

class Processes {
 public:
  Processes(const CellEvidence& evidence, const MemorySteps& reference, const MemorySteps& candidate,
            Judgement& judgement)
      : evidence_(evidence), reference_(reference), candidate_(candidate), judgement_(judgement) {}

  void share_of_the_reference() {
    const double limit = *evidence_.plan.process_memory_limit;
    const auto &mine = evidence_.plan.launch, &theirs = evidence_.plan.reference_launch;
    if (!mine || !theirs || mine->process_peak_bytes.empty() || theirs->process_peak_bytes.empty()) {
      finding.lacking.emplace_back("the processes' VmHWM as the launcher reads it");
      return;
    }
    const auto reference = *std::max_element(theirs->process_peak_bytes.begin(), theirs->process_peak_bytes.end());
    double largest = 0;
    for (std::size_t rank = 0; rank < mine->process_peak_bytes.size(); ++rank) {
      const double share = static_cast<double>(mine->process_peak_bytes[rank]) / static_cast<double>(reference);
      judgement_.compare("processes");
      largest = std::max(largest, share);
      if (mine->process_peak_bytes[rank] > 0 && share <= limit) continue;
      report(0, static_cast<std::int64_t>(rank), "VmHWM",
             "at most " + to_text(limit) + " of the reference's " + std::to_string(reference) + " bytes",
             mine->process_peak_bytes[rank], "resident memory of the process");
    }
    note("VmHWM at most " + to_text(largest) + " of the reference's", largest / limit);
  }

  void beyond_tensors() {
    libraries_ = library_bytes();
    double nearest = 0;
    std::string nearest_words;
    for (const auto& rank : candidate_.record().ranks) {
      const std::int64_t limit = limit_of(rank.rank);
      std::int64_t largest = seen(evidence_.plan.launch, rank.rank);
      constexpr std::int64_t nowhere = -1;
      std::int64_t step = largest > limit ? evidence_.steps() - 1 : nowhere;
      for (std::int64_t later = evidence_.steps(); later-- > 0;) {
        const MemoryRow* row = candidate_.find(rank.rank, later);
        const std::int64_t bytes = row == nullptr ? 0 : row->process_private_bytes.value_or(0);
        largest = std::max(largest, bytes);
        if (bytes > limit) step = later;  // the first, in the end
      }
      judgement_.compare("private_memory");
      if (step != nowhere || largest == 0) {
        report(std::max<std::int64_t>(step, 0), rank.rank, "private memory", "at most " + limit_words(rank.rank),
               largest, "anonymous and shared memory of the process that no tensor accounts for");
      }
      const double share = static_cast<double>(largest) / static_cast<double>(limit);
      if (share <= nearest) continue;
      nearest = share;
      nearest_words =
          "private memory of a process at most " + std::to_string(largest) + " of " + limit_words(rank.rank);
    }
    note(nearest_words, nearest);
  }

  ProcessFinding finding;

 private:
  static std::int64_t seen(const std::optional<LaunchFinding>& launch, std::int64_t rank) {
    const auto index = static_cast<std::size_t>(rank);
    return launch && index < launch->process_private_bytes.size() ? launch->process_private_bytes[index] : 0;
  }

  /// Largest of a rank's steps.
  std::int64_t most(const MemorySteps& memory, std::int64_t rank,
                    std::optional<std::int64_t> MemoryRow::*column) const {
    std::int64_t bytes = 0;
    for (std::int64_t step = 0; step < evidence_.steps(); ++step) {
      if (const MemoryRow* row = memory.find(rank, step)) bytes = std::max(bytes, (row->*column).value_or(0));
    }
    return bytes;
  }

  std::int64_t library_bytes() const {
    const ProcessBase& base = *evidence_.plan.process_base;
    const std::int64_t of_reference =
        std::max(seen(evidence_.plan.reference_launch, 0), most(reference_, 0, &MemoryRow::process_private_bytes)) -
        most(reference_, 0, &MemoryRow::peak_bytes);
    return std::max(base.rank_bytes, of_reference + std::max<std::int64_t>(base.rank_bytes - base.reference_bytes, 0));
  }
  std::int64_t limit_of(std::int64_t rank) const {
    const std::int64_t sum = libraries_ + most(candidate_, rank, &MemoryRow::peak_bytes) + allowed_bytes;
    return sum + sum * allowed_percent / 100;
  }
  std::string limit_words(std::int64_t rank) const {
    return std::to_string(limit_of(rank)) + " bytes (" + std::to_string(libraries_) + " for the libraries, " +
           std::to_string(most(candidate_, rank, &MemoryRow::peak_bytes)) + " of tensors, 32 MiB, and 5 %)";
  }

  /// Of two limits the nearer counts.
  void note(const std::string& measured, double margin) {
    finding.measured += (finding.measured.empty() ? "" : "; ") + measured;
    margin_ = std::max(margin_, margin);
    judgement_.margin(margin_);
  }

  void report(std::int64_t step, std::int64_t rank, const std::string& item, const std::string& expected,
              std::int64_t got, const std::string& words) {
    report_memory(judgement_, MemoryPlace::process, candidate_.whose(), step, rank, item, expected, std::to_string(got),
                  words);
  }

  const CellEvidence& evidence_;
  const MemorySteps& reference_;
  const MemorySteps& candidate_;
  Judgement& judgement_;
  std::int64_t libraries_ = 0;
  double margin_ = 0;
};

}  // namespace

ProcessFinding compare_processes(const CellEvidence& evidence, const MemorySteps& reference,
                                 const MemorySteps& candidate, Judgement& judgement) {
  Processes processes(evidence, reference, candidate, judgement);
  if (evidence.plan.process_memory_limit) processes.share_of_the_reference();
  const std::string why_not = why_no_limit(evidence, candidate);
  if (why_not.empty()) {
    processes.beyond_tensors();
  } else {
    judgement.leave_out("private memory of the processes (" + why_not + ")");
  }
  return processes.finding;
}

}  // namespace plumbline::judging
