// SPDX-License-Identifier: BSD-3-Clause
#include "harness/judge/checks/memory_bounds.hpp"

#include <algorithm>
#include <optional>

#include "harness/judge/expected/kept_gradients.hpp"

namespace plumbline::judging {
namespace {

using Bytes = std::optional<std::int64_t>;

Bytes sum(const Bytes& left, const Bytes& right) {
  return left && right ? Bytes(*left + *right) : std::nullopt;
}

class Bounds {
 public:
  Bounds(std::string whose, bool sends, CheckResultBuilder& builder)
      : whose_(std::move(whose)), sends_(sends), builder_(builder) {}

  void rows(const MemorySteps& memory) {
    for (const auto& rank : memory.record().ranks) {
      for (const auto& each : rank.memory) row(rank, each, memory);
    }
  }

 private:
  void row(const RankRecord& rank, const MemoryRow& row, const MemorySteps& memory) {
    rank_ = rank.rank, step_ = row.step;
    const Bytes values = sum(row.parameter_bytes, row.gradient_bytes);
    const Bytes state = sum(values, row.optimizer_bytes);
    at_least("peak_bytes", row.peak_bytes, state, "parameters, gradients and optimiser state");
    at_least("peak_bytes", row.peak_bytes, sum(values, row.activation_peak_bytes),
             "parameters, gradients and the activations' peak");
    at_least("peak_bytes", row.peak_bytes, row.live_bytes, "the bytes alive at the step's end");
    if (memory.counts_owners()) {
      // Ordered after the owners' limits: an owner's excess is more specific than a peak that is too low.
      const Bytes tables = sum(state, row.table_bytes);
      const Bytes beside = std::max(*row.activation_peak_bytes, *row.other_peak_bytes);
      at_least("peak_bytes", row.peak_bytes, sum(tables, beside),
               "model state, tables and the larger of activation_peak_bytes and other_peak_bytes", OffPath::total_peak);
      at_least("peak_bytes", row.peak_bytes, sum(tables, kept_gradient_bytes(memory.record().manifest, row)),
               "model state, tables and the gradients that a listed order keeps of each microbatch",
               OffPath::total_peak);
    }
    at_least("live_bytes", row.live_bytes, state, "parameters, gradients and optimiser state");
    if (!sends_ && row.buffer_bytes.value_or(0) != 0)
      report("buffer_bytes", "0", *row.buffer_bytes, "one device sends nothing", OffPath::bounds);
  }

  void at_least(const std::string& item, const Bytes& value, const Bytes& least, const std::string& what,
                OffPath place = OffPath::bounds) {
    if (!value || !least) return;
    builder_.inspect("memory_bounds");
    if (*value >= *least) return;
    report(item, "at least " + std::to_string(*least), *value, "less than " + what, place);
  }

  void report(const std::string& item, const std::string& expected, std::int64_t got, const std::string& why,
              OffPath place) {
    report_memory(builder_, place, whose_, step_, rank_, item, expected, std::to_string(got), why);
  }

  std::string whose_;
  bool sends_;
  CheckResultBuilder& builder_;
  std::int64_t rank_ = 0, step_ = 0;
};

class MemoryBoundsPart : public MemoryPart {
 public:
  explicit MemoryBoundsPart(const CellEvidence& evidence)
      : reference_("reference", evidence.reference.manifest.role != "reference", builder_),
        candidate_("candidate", evidence.candidate.manifest.role != "reference", builder_) {}

  void step(const StepEvidence&, const BothMemories& memory) override {
    reference_.rows(memory.reference);
    candidate_.rows(memory.candidate);
  }

  void conclude(const BothMemories&, MemoryFindings& findings) override {
    findings.builder.absorb(std::move(builder_));
  }

 private:
  CheckResultBuilder builder_ = part();
  Bounds reference_, candidate_;
};

}  // namespace

std::unique_ptr<MemoryPart> memory_bounds_part(const CellEvidence& evidence) {
  return std::make_unique<MemoryBoundsPart>(evidence);
}

}  // namespace plumbline::judging
