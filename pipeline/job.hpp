// SPDX-License-Identifier: BSD-3-Clause
// What each rank of a job does, as a thread or an MPI process: plan, record, memory, training.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>

#include "pipeline/clock_alignment.hpp"
#include "pipeline/launch.hpp"
#include "pipeline/pipeline_plan.hpp"
#include "record/record.hpp"
#include "support/error.hpp"
#include "support/json.hpp"
#include "training/run.hpp"

namespace plumbline {

/// What a rank knows when its transport is open.
struct RankStart {
  AlignedClock clock;
  Json libraries = Json::object();  ///< name and version of the message libraries
  /// Called before this rank ends the others for its failure.
  std::function<void(ExitCode)> failing = [](ExitCode) {};
};

/// Collective: one rank's part of a job, the same for MPI processes and threads. Before the first step come the plan
/// and the record's folder, the machines' free memory, the parts of the model, the checkpoint to resume from and the
/// record's description; after each, all ranks agree to go on, or print the lowest failed rank's reason once and return
/// its exit code. `run`: null if `failure` says why this rank cannot train.
int run_rank(const PipelineOptions& options, const Run* run, const std::optional<Failure>& failure,
             Transport& transport, const RankStart& start);

/// Rank 0, before any rank starts: claims the record's folder and prints the plan's notes. Throws InputError if the
/// folder holds another run.
void claim_record(const PipelineOptions& options, const PipelinePlan& plan);

struct RecordStart {
  std::optional<ResumedFrom> resumed_from = std::nullopt;
  Json libraries = Json::object();  ///< RankStart::libraries
  std::int64_t clock_skew_ns = 0;   ///< AlignedClock::skew
};
/// Rank 0, after all ranks loaded their parts: writes the record's description.
void begin_record(const PipelineOptions& options, const Run& run, const PipelinePlan& plan, const RecordStart& start);

}  // namespace plumbline
