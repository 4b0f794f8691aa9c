// SPDX-License-Identifier: BSD-3-Clause
#include "harness/judge/checks/process_memory.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "harness/judge/checks/memory_part.hpp"

namespace plumbline::judging {
namespace {

/// The reason why the growth of the processes cannot be judged; empty if it can.
std::string why_not(const CellEvidence& evidence) {
  const Manifest& manifest = evidence.candidate.manifest;
  if (!manifest.traits.own_bytes) return "another program's";
  if (manifest.transport == "threads") return "the ranks are threads of one process";
  if (manifest.transport != "mpi")
    return fmt::format("ranks over {} may share a process",
                       manifest.transport.empty() ? "an unknown transport" : manifest.transport);
  if (manifest.device != "cpu") return "memory of a GPU's driver and libraries cannot be separated";
  const auto environment = manifest.json.find("environment");
  if (environment != manifest.json.end() && environment->is_object() &&
      !environment->value("sanitizer", Json(nullptr)).is_null())
    return "a sanitizer keeps its own memory";
  return "";
}

/// Detects memory leaks of a rank's process. For each rank, memory in use at a step's end outside of tensors is
/// process_private_bytes - heap_free_bytes - live_bytes. The median of its growth between recorded steps is at most 64
/// MiB per step; a single step, in which a library loads or allocates buffers, may grow by more. Private memory itself
/// is reported without a limit: memory that a process allocates once with malloc is not covered. Skips and reports:
/// ranks that are threads of one process, GPUs, sanitizers, external trainers.
class ProcessesPart : public MemoryPart {
 public:
  explicit ProcessesPart(const CellEvidence& evidence)
      : MemoryPart(evidence), ranks_(evidence.candidate.ranks.size()) {}

  void step(const StepEvidence&, const BothMemories& memory) override {
    for (const auto& [rank, row] : memory.candidate.rows()) ranks_[static_cast<std::size_t>(rank)].step(*row);
  }

  void conclude(const BothMemories& memory, MemoryFindings& findings) override {
    if (const std::string why = why_not(evidence_); !why.empty()) {
      findings.builder.leave_out(fmt::format("growth of the processes' private memory ({})", why));
      return;
    }
    std::int64_t most = 0;
    for (std::size_t i = 0; i < ranks_.size(); ++i) {
      most = std::max(most, ranks_[i].most_private());
      if (!ranks_[i].measured()) continue;
      findings.builder.compare("process_growths");
      if (ranks_[i].median() <= ProcessGrowth::allowed_growth) continue;
      report_memory(findings.builder, OffPath::process, memory.candidate.whose(), *ranks_[i].first_beyond(),
                    static_cast<std::int64_t>(i), "private memory",
                    fmt::format("at most {} bytes more a step", ProcessGrowth::allowed_growth),
                    std::to_string(ranks_[i].median()),
                    "median growth from step to step of private memory that is neither free in malloc nor a tensor: "
                    "process_private_bytes - heap_free_bytes - live_bytes");
    }
    if (most > 0) findings.measured.push_back(fmt::format("private memory of a process at most {} bytes", most));
  }

 private:
  std::vector<ProcessGrowth> ranks_;
};

}  // namespace

void ProcessGrowth::step(const MemoryRow& row) {
  if (!row.process_private_bytes || !row.heap_free_bytes || !row.live_bytes) return;
  most_private_ = std::max(most_private_, *row.process_private_bytes);
  const std::int64_t in_use = *row.process_private_bytes - *row.heap_free_bytes - *row.live_bytes;
  if (before_ && row.step > before_->step) {
    const std::int64_t growth = (in_use - before_->in_use) / (row.step - before_->step);
    if (growth > allowed_growth && !first_beyond_) first_beyond_ = row.step;
    growths_.push_back(growth);
  }
  before_ = Before{row.step, in_use};
}

std::int64_t ProcessGrowth::median() const {
  auto sorted = growths_;
  std::ranges::sort(sorted);
  return sorted[(sorted.size() - 1) / 2];  // of two, the smaller, because one step may grow
}

std::unique_ptr<MemoryPart> processes_part(const CellEvidence& evidence) {
  return std::make_unique<ProcessesPart>(evidence);
}

}  // namespace plumbline::judging
