// memory: model state equal to the byte to what shapes give, activations equal to the byte to the memory law, nothing
// kept from one step to the next, transport buffers and processes within their own limits; on GPUs also LibTorch's own
// count of the bytes.
#include <algorithm>

#include "harness/judge/checks/activation_comparison.hpp"
#include "harness/judge/checks/checks.hpp"
#include "harness/judge/checks/gpu_memory_comparison.hpp"
#include "harness/judge/checks/memory_bounds.hpp"
#include "harness/judge/evidence/step_rows.hpp"
#include "harness/judge/expected/expected_traffic.hpp"
#include "harness/judge/expected/model_bytes.hpp"
#include "support/numbers.hpp"
#include "support/safetensors.hpp"
#include "support/text.hpp"

namespace plumbline::judging {
namespace {

struct StateColumn {
  const char* name;
  std::optional<std::int64_t> MemoryRow::*measured;
  std::int64_t StateBytes::*expected;
};
constexpr StateColumn state_columns[] = {
    {"parameter_bytes", &MemoryRow::parameter_bytes, &StateBytes::parameters},
    {"gradient_bytes", &MemoryRow::gradient_bytes, &StateBytes::gradients},
    {"optimizer_bytes", &MemoryRow::optimizer_bytes, &StateBytes::optimizer},
};

class MemoryComparison {
 public:
  MemoryComparison(const CellEvidence& evidence, Judgement& judgement) : evidence_(evidence), judgement_(judgement) {}

  /// Every rank of a record against the shapes of its units.
  void state_of_ranks(const Record& record, const StageMap& stages, const std::string& whose) {
    for (const auto& rank : record.ranks) {
      StateBytes expected;
      for (const auto stage : stages.stages_on(rank.rank)) {
        const auto bytes = state_bytes(evidence_.model, stages.find(stage)->units, record.manifest);
        if (!bytes) return lack("the form of this optimiser's state");
        for (const auto& column : state_columns) expected.*column.expected += (*bytes).*column.expected;
      }
      for (const auto& row : rank.memory) {
        for (const auto& column : state_columns) {
          const auto& measured = row.*column.measured;
          if (!measured && record.manifest.role == "external") {
            lack(std::string(column.name) + " of the " + whose);
            continue;
          }
          judgement_.compare_or_look_at(&record == &evidence_.candidate, "state_cells");
          if (measured && *measured == expected.*column.expected) continue;
          report(row.step, 0, rank.rank, column.name, std::to_string(expected.*column.expected),
                 measured ? std::to_string(*measured) : "absent",
                 whose + ": bytes that the shapes of the rank's units give");
        }
      }
    }
  }

  /// Sum over the ranks = the reference's own figure + what the second copy of a tied weight costs.
  void state_of_world(std::int64_t step) {
    const bool apart =
        evidence_.model.tied && evidence_.stages.stage_of("embed_tokens") != evidence_.stages.stage_of("lm_head");
    const auto copy = apart ? tied_copy_bytes(evidence_.model, evidence_.candidate.manifest) : StateBytes{};
    if (!copy) return;
    for (const auto& column : state_columns) {
      const auto reference = sum(evidence_.reference, step, column), candidate = sum(evidence_.candidate, step, column);
      if (!reference || !candidate) continue;
      judgement_.compare("state_sums");
      const auto expected = *reference + (*copy).*column.expected;
      if (*candidate != expected) {
        report(step, 1, 0, std::string("sum of ") + column.name, std::to_string(expected), std::to_string(*candidate),
               "the reference's " + std::to_string(*reference) + " and " + std::to_string((*copy).*column.expected) +
                   " for the tied copy");
      }
    }
  }

  /// After the first step, which makes the optimiser's state, every step ends with as many bytes alive.
  void leaks(const Record& record, const std::string& whose) {
    for (const auto& rank : record.ranks) {
      std::optional<std::int64_t> first;
      for (const auto& row : rank.memory) {
        if (!row.live_bytes) {
          lack("live_bytes of the " + whose);
          continue;
        }
        judgement_.compare_or_look_at(&record == &evidence_.candidate, "step_ends");
        if (!first) first = row.live_bytes;
        if (*row.live_bytes == *first) continue;
        report(row.step, 4, rank.rank, "live_bytes", std::to_string(*first), std::to_string(*row.live_bytes),
               whose + ": tensor bytes alive at the step's end, against the end of the first step");
      }
    }
  }

  void buffers() {
    if (!evidence_.lowered_list) return lack("a schedule.csv that can be followed");
    // REDUCE: one tied gradient on its way in, one on its way out.
    const auto tied = 2 * evidence_.model.vocabulary * evidence_.model.hidden *
                      static_cast<std::int64_t>(dtype_size(evidence_.candidate.manifest.dtype));
    for (const auto& rank : evidence_.candidate.ranks) {
      if (rank.rank >= static_cast<std::int64_t>(evidence_.lowered_list->ranks.size())) continue;
      for (const auto& row : rank.memory) {
        const auto bytes =
            boundary_bytes(evidence_.reference_rows, evidence_.reference.manifest, row.step, evidence_.model.hidden);
        const auto bound = buffer_bound(evidence_.lowered_list->ranks[static_cast<std::size_t>(rank.rank)],
                                        evidence_.stages, bytes, tied);
        if (!row.buffer_bytes) {
          lack("buffer_bytes");
          continue;
        }
        judgement_.compare("buffer_cells");
        largest_buffer_ = std::max(largest_buffer_, *row.buffer_bytes);
        largest_bound_ = std::max(largest_bound_, bound);
        if (!(*row.buffer_bytes <= bound)) {
          report(row.step, 2, rank.rank, "buffer_bytes", "at most " + std::to_string(bound),
                 std::to_string(*row.buffer_bytes),
                 "transport buffers beyond every message that the list lets be in flight");
        }
      }
    }
  }

  void processes() {
    if (!evidence_.plan.process_memory_limit) return;
    const double limit = *evidence_.plan.process_memory_limit;
    const auto &mine = evidence_.plan.launch, &theirs = evidence_.plan.reference_launch;
    if (!mine || !theirs || mine->process_peak_bytes.empty() || theirs->process_peak_bytes.empty()) {
      return lack("the processes' VmHWM as the launcher reads it");
    }
    const auto reference = *std::max_element(theirs->process_peak_bytes.begin(), theirs->process_peak_bytes.end());
    for (std::size_t rank = 0; rank < mine->process_peak_bytes.size(); ++rank) {
      const double share = static_cast<double>(mine->process_peak_bytes[rank]) / static_cast<double>(reference);
      judgement_.compare("processes");
      largest_share_ = std::max(largest_share_, share);
      if (!(mine->process_peak_bytes[rank] > 0 && share <= limit)) {
        report(0, 3, static_cast<std::int64_t>(rank), "VmHWM",
               "at most " + to_text(limit) + " of the reference's " + std::to_string(reference) + " bytes",
               std::to_string(mine->process_peak_bytes[rank]), "resident memory of the process");
      }
    }
    judgement_.margin(largest_share_ / limit);
  }

  std::string measured() const {
    std::string text = "transport buffers at most " + std::to_string(largest_buffer_) + " of " +
                       std::to_string(largest_bound_) + " bytes";
    if (largest_share_ > 0) text += "; VmHWM at most " + to_text(largest_share_) + " of the reference's";
    return text;
  }

  void lack(const std::string& what) {
    if (std::find(lacking.begin(), lacking.end(), what) == lacking.end()) lacking.push_back(what);
  }
  std::vector<std::string> lacking;

 private:
  static std::optional<std::int64_t> sum(const Record& record, std::int64_t step, const StateColumn& column) {
    std::int64_t total = 0;
    for (const auto& rank : record.ranks) {
      const auto rows = step_rows(rank.memory, step);
      if (rows.empty() || !(rows.front().*column.measured)) return std::nullopt;
      total += *(rows.front().*column.measured);
    }
    return total;
  }

  void report(std::int64_t step, std::int64_t order, std::int64_t rank, const std::string& item,
              const std::string& expected, const std::string& got, const std::string& words) {
    judgement_.diverge(beside(step, order - 10, rank), step, rank, item, expected, got,
                       item + " at " + step_words(step) + " on rank " + std::to_string(rank) + " is " + got +
                           ", expected " + expected + ": " + words);
  }

  const CellEvidence& evidence_;
  Judgement& judgement_;
  std::int64_t largest_buffer_ = 0, largest_bound_ = 0;
  double largest_share_ = 0;
};

}  // namespace

Judged check_memory(const CellEvidence& evidence) {
  Judgement judgement(
      "memory", "memory",
      "equal to the byte: model state by shapes, activations by the memory law, what is alive at the end of each step; "
      "transport buffers at most all messages "
      "of a step that can be in flight" +
          std::string(evidence.candidate.manifest.device == "cpu"
                          ? ""
                          : "; the GPU allocator's own count equal to the byte where a process is one rank") +
          (evidence.plan.process_memory_limit
               ? "; VmHWM at most " + to_text(*evidence.plan.process_memory_limit) + " of the reference's"
               : std::string()));
  MemoryComparison comparison(evidence, judgement);
  comparison.state_of_ranks(evidence.reference, evidence.reference_stages, "reference");
  comparison.state_of_ranks(evidence.candidate, evidence.stages, "candidate");
  for (std::int64_t step = 0; step < evidence.steps(); ++step) comparison.state_of_world(step);
  compare_saved_bytes(evidence, judgement);
  for (const auto& what : compare_activations(evidence, judgement)) comparison.lack(what);
  comparison.leaks(evidence.reference, "reference");
  comparison.leaks(evidence.candidate, "candidate");
  compare_memory_bounds(evidence.reference, "reference", judgement);
  compare_memory_bounds(evidence.candidate, "candidate", judgement);
  comparison.buffers();
  comparison.processes();
  const GpuMemoryFinding gpu = compare_gpu_memory(evidence, judgement);
  for (const auto& what : gpu.lacking) comparison.lack(what);
  judgement.measured(comparison.measured() + (gpu.measured.empty() ? "" : "; ") + gpu.measured);
  if (evidence.steps() < 2) judgement.not_shown("bytes that are kept from step to step: the run has one step");
  if (!comparison.lacking.empty()) {
    return judgement.conclude_as(Outcome::not_run,
                                 "the records do not have " + join(comparison.lacking, ", ") +
                                     (judgement.count("state_cells") > 0 ? "; what they have agrees" : ""));
  }
  std::int64_t actions = 0;
  for (const auto& list : evidence.compute_list->ranks) actions += static_cast<std::int64_t>(list.size());
  const auto ranks = static_cast<std::int64_t>(evidence.candidate.ranks.size());
  return judgement.conclude("state, activations and buffers of every rank are what shapes, law and list give",
                            {{"actions", actions * evidence.steps()},
                             {"activation_peaks", ranks * evidence.steps()},
                             {"gpu_rows", gpu.rows_wanted},
                             {"state_cells", 3 * (ranks + 1) * evidence.steps()}});
}

}  // namespace plumbline::judging
