// memory: model state equal to the byte to what shapes give, activations equal to the byte to the memory law, every
// byte alive at a step's end owned, nothing kept from one step to the next, transport buffers, other bytes and
// processes within their own limits; on GPUs also LibTorch's own count of the bytes.
#include <algorithm>

#include "harness/judge/checks/activation_comparison.hpp"
#include "harness/judge/checks/checks.hpp"
#include "harness/judge/checks/gpu_memory_comparison.hpp"
#include "harness/judge/checks/memory_bounds.hpp"
#include "harness/judge/checks/memory_places.hpp"
#include "harness/judge/checks/model_state.hpp"
#include "harness/judge/checks/owned_bytes.hpp"
#include "harness/judge/checks/process_memory.hpp"
#include "harness/judge/checks/total_peak.hpp"
#include "harness/judge/comparability.hpp"
#include "harness/judge/evidence/memory_steps.hpp"
#include "harness/judge/expected/expected_traffic.hpp"
#include "support/numbers.hpp"
#include "support/safetensors.hpp"
#include "support/text.hpp"

namespace plumbline::judging {
namespace {

class MemoryComparison {
 public:
  MemoryComparison(const CellEvidence& evidence, Judgement& judgement) : evidence_(evidence), judgement_(judgement) {}

  /// After the first step, which makes the optimiser's state, every step ends with as many bytes alive.
  void leaks(const MemorySteps& memory) {
    for (const auto& rank : memory.record().ranks) {
      std::optional<std::int64_t> first;
      for (std::int64_t step = 0; step < evidence_.steps(); ++step) {
        const MemoryRow* row = memory.find(rank.rank, step);
        if (row == nullptr) continue;
        if (!row->live_bytes) {
          lack("live_bytes of the " + memory.whose());
          continue;
        }
        judgement_.compare_or_look_at(&memory.record() == &evidence_.candidate, "step_ends");
        if (!first) first = row->live_bytes;
        if (*row->live_bytes == *first) continue;
        report_memory(judgement_, MemoryPlace::leak, memory.whose(), step, rank.rank, "live_bytes",
                      std::to_string(*first), std::to_string(*row->live_bytes),
                      "tensor bytes alive at the step's end, against the end of the first step");
      }
    }
  }

  void buffers(const MemorySteps& candidate) {
    if (!evidence_.lowered_list) return lack("a schedule.csv that can be followed");
    // REDUCE: one tied gradient on its way in, one on its way out.
    const auto tied = 2 * evidence_.model.vocabulary * evidence_.model.hidden *
                      static_cast<std::int64_t>(dtype_size(evidence_.candidate.manifest.dtype));
    for (const auto& rank : evidence_.candidate.ranks) {
      if (rank.rank >= static_cast<std::int64_t>(evidence_.lowered_list->ranks.size())) continue;
      for (std::int64_t step = 0; step < evidence_.steps(); ++step) {
        const MemoryRow* row = candidate.find(rank.rank, step);
        if (row == nullptr) continue;
        const auto bytes =
            boundary_bytes(evidence_.reference_rows, evidence_.reference.manifest, step, evidence_.model.hidden);
        const auto bound = buffer_bound(evidence_.lowered_list->ranks[static_cast<std::size_t>(rank.rank)],
                                        evidence_.stages, bytes, tied);
        if (!row->buffer_bytes) {
          lack("buffer_bytes");
          continue;
        }
        judgement_.compare("buffer_cells");
        largest_buffer_ = std::max(largest_buffer_, *row->buffer_bytes);
        largest_bound_ = std::max(largest_bound_, bound);
        if (*row->buffer_bytes <= bound) continue;
        report_memory(judgement_, MemoryPlace::buffers, candidate.whose(), step, rank.rank, "buffer_bytes",
                      "at most " + std::to_string(bound), std::to_string(*row->buffer_bytes),
                      "transport buffers beyond every message that the list lets be in flight");
      }
    }
  }

  std::string measured() const {
    return "transport buffers at most " + std::to_string(largest_buffer_) + " of " + std::to_string(largest_bound_) +
           " bytes";
  }

  void lack(const std::string& what) {
    if (std::find(lacking.begin(), lacking.end(), what) == lacking.end()) lacking.push_back(what);
  }
  void lack(const std::vector<std::string>& all) {
    for (const auto& what : all) lack(what);
  }
  std::vector<std::string> lacking;

 private:
  const CellEvidence& evidence_;
  Judgement& judgement_;
  std::int64_t largest_buffer_ = 0, largest_bound_ = 0;
};

std::string limit_words(const CellEvidence& evidence) {
  std::string words =
      "equal to the byte: model state by shapes, activations by the memory law, what is alive at the end of each step "
      "by its owners; transport buffers at most all messages of a step that can be in flight; tables at most the "
      "reference's for each stage, data and other bytes at most the reference's";
  if (evidence.candidate.manifest.device != "cpu")
    words += "; the GPU allocator's own count equal to the byte where a process is one rank";
  if (evidence.plan.process_memory_limit)
    words += "; VmHWM at most " + to_text(*evidence.plan.process_memory_limit) + " of the reference's";
  if (evidence.plan.process_base)
    words += "; a process' private memory at most what the libraries take, its tensors, 32 MiB, and 5 %";
  return words;
}

}  // namespace

Judged check_memory(const CellEvidence& evidence) {
  Judgement judgement("memory", "memory", limit_words(evidence));
  MemoryComparison comparison(evidence, judgement);
  const MemorySteps reference(evidence.reference, "reference", judgement);
  const MemorySteps candidate(evidence.candidate, "candidate", judgement);
  comparison.lack(compare_model_state(evidence, reference, candidate, judgement));
  compare_saved_bytes(evidence, judgement);
  const auto others =
      evidence.limits ? why_other_kernels(evidence.reference.manifest, evidence.candidate.manifest) : std::nullopt;
  if (others) {
    judgement.leave_out(
        "activations by the memory law, which counts what the reference's kernels keep (here ran others: " + *others +
        ")");
  } else {
    comparison.lack(compare_activations(evidence, judgement));
  }
  comparison.leaks(reference);
  comparison.leaks(candidate);
  compare_memory_bounds(evidence.reference, "reference", judgement);
  compare_memory_bounds(evidence.candidate, "candidate", judgement);
  comparison.buffers(candidate);
  compare_owned_bytes(evidence, reference, candidate, judgement);
  compare_total_peak(evidence, reference, judgement);
  compare_total_peak(evidence, candidate, judgement);
  const ProcessFinding processes = compare_processes(evidence, reference, candidate, judgement);
  comparison.lack(processes.lacking);
  const GpuMemoryFinding gpu = compare_gpu_memory(evidence, judgement);
  comparison.lack(gpu.lacking);

  std::string measured = comparison.measured();
  for (const auto& more : {processes.measured, gpu.measured}) measured += (more.empty() ? "" : "; ") + more;
  judgement.measured(measured);
  if (evidence.steps() < 2) judgement.not_shown("bytes that are kept from step to step: the run has one step");
  if (!comparison.lacking.empty()) {
    return judgement.conclude_as(Outcome::not_run,
                                 "the records do not have " + join(comparison.lacking, ", ") +
                                     (judgement.count("state_cells") > 0 ? "; what they have agrees" : ""));
  }
  const auto ranks = static_cast<std::int64_t>(evidence.candidate.ranks.size());
  std::map<std::string, std::int64_t> floors = {{"gpu_rows", gpu.rows_wanted},
                                                {"state_cells", 3 * (ranks + 1) * evidence.steps()},
                                                {"step_ends", (ranks + 1) * evidence.steps()}};
  if (!others) {
    std::int64_t actions = 0;
    for (const auto& list : evidence.compute_list->ranks) actions += static_cast<std::int64_t>(list.size());
    floors["actions"] = actions * evidence.steps();
    floors["activation_peaks"] = ranks * evidence.steps();
  }
  return judgement.conclude(
      "state, activations and buffers of every rank are what shapes, law and list give, and every "
      "byte alive when a step ends has its owner",
      floors);
}

}  // namespace plumbline::judging
