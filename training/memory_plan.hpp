// SPDX-License-Identifier: BSD-3-Clause
// The bytes that a part of the model will take, known before anything is made: for the message of who runs out of them.
#pragma once

#include <c10/core/ScalarType.h>

#include <cstdint>
#include <string>
#include <vector>

#include "model/recompute.hpp"
#include "model/unit.hpp"
#include "training/batch_plan.hpp"
#include "training/run_file.hpp"

namespace plumbline {

/// Bytes. What kernels take while they run is not in it, so more is needed. A number beyond 2^63 - 1 is 2^63 - 1.
struct MemoryPlan {
  std::int64_t parameters = 0;
  std::int64_t gradients = 0;
  std::int64_t optimizer = 0;
  std::int64_t activations = 0;  ///< kept for the backward pass, at their peak

  /// What lives from the first step to the last.
  std::int64_t state() const;
  std::int64_t total() const;
};

/// "at least 3.2 GiB: parameters 0.8 GiB, ..."
std::string to_text(const MemoryPlan& plan);

/// Parameters, with copies in mixed precision, gradients and optimiser state of these units; no activations.
MemoryPlan plan_state(const LlamaConfig& config, const std::vector<UnitRange>& units, const TrainSettings& train);

/// What these units keep of one microbatch of `tokens` positions until its backward pass: saved_bytes of each.
std::int64_t plan_saved(const LlamaConfig& config, UnitRange units, std::int64_t tokens, c10::ScalarType dtype,
                        Recompute recompute = Recompute::none, std::int64_t math_sequence = 0);

/// What the loss takes beside that, of units that hold the head: the logits, where log-probabilities of another dtype
/// are kept of them. 0 without the head.
std::int64_t plan_logits(const LlamaConfig& config, UnitRange units, std::int64_t tokens, c10::ScalarType dtype);

/// What their backward pass takes beyond that where it runs layers again: one layer's, without what norm and head have
/// let go of by then. 0 where it does not.
std::int64_t plan_recomputed(const LlamaConfig& config, UnitRange units, std::int64_t tokens, c10::ScalarType dtype,
                             Recompute recompute, std::int64_t math_sequence = 0);

/// The longest row of a microbatch where attention on `device` ("cpu", "cuda") runs as matrix products, else 0.
std::int64_t math_sequence(const BatchPlan& batches, std::int64_t microbatch, const std::string& device,
                           c10::ScalarType dtype);

/// All of it on one device, where one microbatch at a time is in flight: the largest decides.
MemoryPlan plan_one_device(const LlamaConfig& config, const BatchPlan& batches, const RunFile& run);

/// Throws SystemError when the plan is beyond this machine's memory. `who`: "rank 2".
void require_memory(const MemoryPlan& plan, const std::string& who);

/// Throws SystemError when the plan is beyond what is free now (free_memory). `who`: "this machine".
void require_free(const MemoryPlan& plan, std::int64_t free_bytes, const std::string& who);

/// Throws SystemError when not even what lives through all steps fits into what is free on a GPU. `place`:
/// "rank 2, GPU 0 (...)".
void check_fits(const MemoryPlan& plan, std::int64_t free_bytes, std::int64_t total_bytes, const std::string& place);

}  // namespace plumbline
