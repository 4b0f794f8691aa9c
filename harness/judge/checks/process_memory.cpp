#include "harness/judge/checks/process_memory.hpp"

#include <algorithm>
#include <optional>
#include <utility>

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
  if (manifest.transport.empty()) return "the manifest names no transport: its ranks may share a process";
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

/// The largest of some bytes over all steps.
class LargestOfSteps {
 public:
  void step(std::int64_t step, std::int64_t bytes, std::int64_t certainly_allowed) {
    if (bytes <= bytes_) return;
    bytes_ = bytes;
    // The limit is known behind the last step alone: until then the steps are kept that may be the first beyond it.
    if (bytes > certainly_allowed) rises_.emplace_back(step, bytes);
  }

  std::int64_t bytes() const { return bytes_; }
  /// The first step whose bytes are beyond the limit.
  std::optional<std::int64_t> first_beyond(std::int64_t limit) const {
    for (const auto& [step, bytes] : rises_) {
      if (bytes > limit) return step;
    }
    return std::nullopt;
  }

 private:
  std::int64_t bytes_ = 0;
  std::vector<std::pair<std::int64_t, std::int64_t>> rises_;  ///< step and bytes: more than in any step before
};

/// What memory.csv tells of one process.
struct ProcessSteps {
  void step(const MemoryRow& row, std::int64_t base) {
    const std::int64_t peak = row.peak_bytes.value_or(0), live = row.live_bytes.value_or(0);
    const std::int64_t bytes = row.process_private_bytes.value_or(0);
    peak_bytes = std::max(peak_bytes, peak);
    private_bytes.step(row.step, bytes, base + peak_bytes + allowed_bytes);
    if (!row.heap_free_bytes) return;
    kept_bytes = std::max(kept_bytes, std::min(*row.heap_free_bytes, peak - live));
    live_bytes = std::max(live_bytes, live);
    used_bytes.step(row.step, bytes - *row.heap_free_bytes, base + live_bytes + allowed_bytes);
  }

  LargestOfSteps private_bytes;  ///< at the step's end
  LargestOfSteps used_bytes;     ///< of these, what malloc has not free
  std::int64_t peak_bytes = 0;   ///< of tensors
  std::int64_t live_bytes = 0;   ///< of tensors at a step's end
  /// What malloc may keep of a step's tensors, scattered so that the next ones do not fit: at most as much as these
  /// were.
  std::int64_t kept_bytes = 0;
};

class ProcessesPart : public MemoryPart {
 public:
  explicit ProcessesPart(const CellEvidence& evidence) : evidence_(evidence), ranks_(evidence.candidate.ranks.size()) {}

  void step(const StepEvidence&, const BothMemories& memory) override {
    const auto look = [](const MemorySteps& steps, std::int64_t rank, std::int64_t base, ProcessSteps& process) {
      const MemoryRow* row = steps.find(rank);
      if (row != nullptr) process.step(*row, base);
    };
    look(memory.reference, 0, 0, reference_);
    const std::int64_t base = evidence_.plan.process_base ? evidence_.plan.process_base->rank_bytes : 0;
    for (std::size_t i = 0; i < ranks_.size(); ++i)
      look(memory.candidate, evidence_.candidate.ranks[i].rank, base, ranks_[i]);
  }

  void conclude(const BothMemories& memory, MemoryFindings& findings) override {
    findings_ = &findings;
    whose_ = memory.candidate.whose();
    if (evidence_.plan.process_memory_limit) share_of_the_reference();
    const std::string why_not = why_no_limit(evidence_, memory.candidate);
    if (why_not.empty()) {
      beyond_tensors();
    } else {
      findings.judgement.leave_out("private memory of the processes (" + why_not + ")");
    }
    if (!measured_.empty()) findings.measured.push_back(measured_);
  }

 private:
  void share_of_the_reference() {
    const double limit = *evidence_.plan.process_memory_limit;
    const std::int64_t reference = most_private(evidence_.plan.reference_launch, 0, reference_);
    if (reference == 0) {
      findings_->lack("the private memory of the reference's process");
      return;
    }
    double largest = 0;
    for (std::size_t i = 0; i < ranks_.size(); ++i) {
      const std::int64_t rank = evidence_.candidate.ranks[i].rank;
      const std::int64_t bytes = most_private(evidence_.plan.launch, rank, ranks_[i]);
      if (bytes == 0) {
        findings_->lack("the private memory of rank " + std::to_string(rank) + "'s process");
        return;
      }
      const double share = static_cast<double>(bytes) / static_cast<double>(reference);
      findings_->judgement.compare("processes");
      largest = std::max(largest, share);
      if (share <= limit) continue;
      report(0, rank, "private memory",
             "at most " + to_text(limit) + " of the reference's " + std::to_string(reference) + " bytes", bytes,
             "anonymous and shared memory of the process");
    }
    note("private memory at most " + to_text(largest) + " of the reference's", largest / limit);
  }

  /// The most that the launcher or the rank itself saw; 0 where neither did.
  static std::int64_t most_private(const std::optional<LaunchFinding>& launch, std::int64_t rank,
                                   const ProcessSteps& process) {
    return std::max(seen(launch, rank), process.private_bytes.bytes());
  }

  void beyond_tensors() {
    const ProcessBase& base = *evidence_.plan.process_base;
    const std::int64_t of_mpi = std::max<std::int64_t>(base.rank_bytes - base.reference_bytes, 0);
    const auto libraries = [&](std::int64_t of_reference) { return std::max(base.rank_bytes, of_reference + of_mpi); };
    const std::int64_t at_peak =
        libraries(most_private(evidence_.plan.reference_launch, 0, reference_) - reference_.peak_bytes);
    const std::int64_t at_end = libraries(reference_.used_bytes.bytes() - reference_.live_bytes);
    for (std::size_t i = 0; i < ranks_.size(); ++i) {
      const std::int64_t rank = evidence_.candidate.ranks[i].rank;
      findings_->judgement.compare("private_memory");
      whenever_seen(rank, ranks_[i], at_peak);
      at_the_steps_end(rank, ranks_[i], at_end);
    }
    note(nearest_words_, nearest_);
  }

  void whenever_seen(std::int64_t rank, const ProcessSteps& process, std::int64_t libraries) {
    const std::int64_t limit = with_percent(libraries + process.peak_bytes + process.kept_bytes + allowed_bytes);
    const std::string words = limit_words(limit, libraries, process.peak_bytes, process.kept_bytes);
    const std::int64_t by_launcher = seen(evidence_.plan.launch, rank);
    const std::int64_t largest = most_private(evidence_.plan.launch, rank, process);
    auto step = process.private_bytes.first_beyond(limit);
    if (!step && by_launcher > limit) step = evidence_.last_step();
    if (step || largest == 0) {
      report(step.value_or(0), rank, "private memory", "at most " + words, largest,
             "anonymous and shared memory of the process that no tensor accounts for");
    }
    nearer(largest, limit, "private memory of a process", words);
  }

  void at_the_steps_end(std::int64_t rank, const ProcessSteps& process, std::int64_t libraries) {
    const std::int64_t limit = with_percent(libraries + process.live_bytes + allowed_bytes);
    const std::string words = limit_words(limit, libraries, process.live_bytes, 0);
    const std::int64_t largest = process.used_bytes.bytes();
    if (const auto step = process.used_bytes.first_beyond(limit)) {
      report(*step, rank, "private memory in use", "at most " + words, largest,
             "anonymous and shared memory of the process at the step's end that malloc has not free and no tensor "
             "accounts for");
    }
    nearer(largest, limit, "private memory of a process in use at a step's end", words);
  }

  void nearer(std::int64_t largest, std::int64_t limit, const std::string& what, const std::string& words) {
    const double share = static_cast<double>(largest) / static_cast<double>(limit);
    if (share <= nearest_) return;
    nearest_ = share;
    nearest_words_ = what + " at most " + std::to_string(largest) + " of " + words;
  }

  static std::int64_t seen(const std::optional<LaunchFinding>& launch, std::int64_t rank) {
    const auto index = static_cast<std::size_t>(rank);
    return launch && index < launch->process_private_bytes.size() ? launch->process_private_bytes[index] : 0;
  }

  static std::int64_t with_percent(std::int64_t bytes) { return bytes + bytes * allowed_percent / 100; }
  static std::string limit_words(std::int64_t limit, std::int64_t libraries, std::int64_t tensors, std::int64_t kept) {
    return std::to_string(limit) + " bytes (" + std::to_string(libraries) + " for the libraries, " +
           std::to_string(tensors) + " of tensors, " +
           (kept == 0 ? "" : std::to_string(kept) + " that malloc keeps of a step's tensors, ") + "32 MiB, and 5 %)";
  }

  /// Of two limits the nearer counts.
  void note(const std::string& measured, double margin) {
    measured_ += (measured_.empty() ? "" : "; ") + measured;
    margin_ = std::max(margin_, margin);
    findings_->judgement.margin(margin_);
  }

  void report(std::int64_t step, std::int64_t rank, const std::string& item, const std::string& expected,
              std::int64_t got, const std::string& words) {
    report_memory(findings_->judgement, Beside::process, whose_, step, rank, item, expected, std::to_string(got),
                  words);
  }

  const CellEvidence& evidence_;
  ProcessSteps reference_;
  std::vector<ProcessSteps> ranks_;
  MemoryFindings* findings_ = nullptr;
  std::string whose_, measured_;
  double margin_ = 0;
  std::string nearest_words_;  ///< of the ranks' limits the nearest
  double nearest_ = 0;
};

}  // namespace

std::unique_ptr<MemoryPart> processes_part(const CellEvidence& evidence) {
  return std::make_unique<ProcessesPart>(evidence);
}

}  // namespace plumbline::judging
