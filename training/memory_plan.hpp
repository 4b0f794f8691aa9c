// SPDX-License-Identifier: BSD-3-Clause
// Predicts the bytes that a part of the model will allocate, for out-of-memory messages.
#pragma once

#include <c10/core/ScalarType.h>

#include <cstdint>
#include <string>
#include <vector>

#include "model/recompute.hpp"
#include "model/unit.hpp"
#include "training/run.hpp"

namespace plumbline {

/// In bytes. Excludes temporaries of kernels, so it is a lower bound. Each number saturates at 2^63 - 1.
struct MemoryPlan {
  std::int64_t parameters = 0;
  std::int64_t gradients = 0;
  std::int64_t optimizer = 0;
  std::int64_t activations = 0;    ///< peak bytes of forward and backward passes
  std::int64_t dump = 0;           ///< copies of a step's state for a record of level dump, after the passes
  std::int64_t communicators = 0;  ///< NCCL's own memory
  std::int64_t checkpoint = 0;     ///< the copy that checkpoints in the background are written from, on a CPU

  /// The bytes that live from the first step to the last.
  std::int64_t state() const;
  std::int64_t total() const;
};

/// "at least 3.2 GiB: parameters 0.8 GiB, ..."
std::string to_text(const MemoryPlan& plan);

/// Parameters (with copies in mixed precision), gradients and optimizer state of these units; no activations.
/// `copied`: with the copy for checkpoints. `dumped`: with those of level dump.
MemoryPlan plan_state(const LlamaConfig& config, const std::vector<UnitRange>& units, const TrainSettings& train,
                      bool copied = false, bool dumped = false);
/// With the copies that the run needs.
MemoryPlan plan_state(const Run& run, const std::vector<UnitRange>& units);

/// Bytes that these units keep of one microbatch of `tokens` positions until its backward pass: saved_bytes of each.
std::int64_t plan_saved(const LlamaConfig& config, UnitRange units, std::int64_t tokens, c10::ScalarType dtype,
                        Recompute recompute = Recompute::none, std::int64_t math_sequence = 0);

/// Additional bytes of a backward pass: a weight's gradient before it is added to the sum, and what a layer or half
/// recomputes, less what later units have released by then.
std::int64_t plan_backward(const LlamaConfig& config, UnitRange units, std::int64_t tokens, const TrainSettings& train,
                           std::int64_t math_sequence = 0);

/// The longest row of a microbatch if attention on this device runs as matrix products, else 0.
std::int64_t math_sequence(const BatchPlan& batches, std::int64_t microbatch, c10::Device device,
                           c10::ScalarType dtype);

/// The plan of one device, with one microbatch in flight at a time: the largest one counts.
MemoryPlan plan_one_device(const Run& run);

/// Throws SystemError if the plan exceeds the memory that is free now (free_memory). `owner`: "rank 2".
void require_free(const MemoryPlan& plan, std::int64_t free_bytes, const std::string& owner);

/// Throws SystemError if what lives through all steps exceeds the free memory of a GPU. `place`: "rank 2, GPU 0 (...)".
void check_fits(const MemoryPlan& plan, std::int64_t free_bytes, std::int64_t total_bytes, const std::string& place);

}  // namespace plumbline
