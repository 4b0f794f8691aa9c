// SPDX-License-Identifier: BSD-3-Clause
// memory: model state equals the bytes of the shapes, activations equal the activation memory model, every byte alive
// at a step's end has an owner, nothing is kept from one step to the next, transport buffers, other bytes and processes
// are within their limits; on GPUs LibTorch's own count of bytes, too.
#include <fmt/format.h>

#include "harness/judge/checks/checks.hpp"
#include "harness/judge/checks/memory_part.hpp"
#include "support/text.hpp"

namespace plumbline::judging {
namespace {

std::string limit_words(const CellEvidence& evidence) {
  std::string words =
      "equal to the byte: model state by shapes, activations by the activation memory model, bytes alive at the end of "
      "each step by owner; transport buffers at most all messages of a step that can be in flight; tables at most the "
      "reference's for each stage, data and other bytes at most the reference's";
  if (evidence.candidate.manifest.device != "cpu")
    words += "; the GPU allocator's own count equal to the byte where a process is one rank";
  return words + "; private memory of a process outside tensors grows by at most 64 MiB a step";
}

class MemoryCheck : public StepCheck {
 public:
  explicit MemoryCheck(const CellEvidence& evidence)
      : StepCheck(evidence, {"memory", "memory", limit_words(evidence)}),
        reference_(evidence.reference, "reference"),
        candidate_(evidence.candidate, "candidate") {
    for (const auto make : {model_state_part, saved_bytes_part, activations_part, step_ends_part, peak_bounds_part,
                            transport_buffers_part, owned_bytes_part, processes_part, gpu_memory_part})
      parts_.push_back(make(evidence));
  }

  void step(const StepEvidence& now) override {
    if (now.step < 0) return;
    reference_.step();
    candidate_.step();
    for (const auto& part : parts_) part->step(now, {reference_, candidate_});
  }

  LocatedResult conclude() override {
    MemoryFindings findings{builder_, {}, {}, {}};
    for (const auto& part : parts_) part->conclude({reference_, candidate_}, findings);
    builder_.measured(join(findings.measured, "; "));
    if (evidence_.steps() < 2) builder_.not_shown("bytes kept from step to step: the run has one step");
    if (!findings.lacking.empty()) {
      return builder_.conclude_as(Outcome::incomplete,
                                  fmt::format("the records lack {}{}", join(findings.lacking, ", "),
                                              builder_.count("state_cells") > 0 ? "; what they have agrees" : ""));
    }
    return builder_.conclude(
        "state, activations and buffers of every rank are what shapes, memory model and schedule give, and every "
        "byte alive when a step ends has an owner",
        findings.floors);
  }

 private:
  MemorySteps reference_, candidate_;
  std::vector<std::unique_ptr<MemoryPart>> parts_;  ///< in the order of reporting
};

}  // namespace

CheckDescriptor memory_check() {
  return {.name = "memory",
          .place = 150,
          .claims =
              "bytes of parameters, gradients and optimiser state follow from shapes; activations equal the activation "
              "memory model in every action, to the byte; nothing is kept from step to step; no rank holds bytes "
              "without an owner.",
          .needs_in_words =
              "level summary. Of external records, only the rules between their own numbers apply "
              "([rules](record-format.md#memorycsv)).",
          .cannot_see =
              "memory that a process takes once outside of tensors (a constant GiB by malloc): only its growth from "
              "step to step is judged.",
          .one_device_reference = true,
          .needs_of_reference = {"inputs", "labels"},
          .compares_without = {"actions", "schedule"},
          .make = make_check<MemoryCheck>};
}

}  // namespace plumbline::judging
