// SPDX-License-Identifier: BSD-3-Clause
#include "pipeline/job.hpp"

#include <chrono>
#include <cstdio>
#include <utility>

#include "pipeline/job_record.hpp"
#include "pipeline/memory.hpp"
#include "pipeline/plan_text.hpp"
#include "pipeline/rank_trainer.hpp"
#include "pipeline/transport/deadline_error.hpp"
#include "pipeline/transport/rank_pairs.hpp"
#include "record/writer.hpp"
#include "schedule/csv_import.hpp"
#include "support/error.hpp"
#include "support/plain_text.hpp"
#include "training/gpu/gpu_start.hpp"
#include "training/prepare_device.hpp"
#include "training/run_description.hpp"

namespace plumbline {

namespace {

/// Collective. If any rank cannot continue, returns the exit code for all ranks. Most errors are detected by every
/// rank, so rank 0 prints only the lowest rank's, while the others wait: mpirun kills the rest of a job as soon as one
/// rank exits with a failure.
std::optional<int> agree_to_stop(Transport& transport, const std::string& program, const std::optional<Failure>& own) {
  const std::string rank = transport.rank() > 0 ? "rank " + std::to_string(transport.rank()) + ": " : "";
  const std::string first =
      transport.first_nonempty(own ? std::to_string(static_cast<int>(own->code)) + rank + own->words : "");
  if (first.empty()) return std::nullopt;
  if (transport.rank() == 0) {
    std::fprintf(stderr, "%s: %s\n", program.c_str(), printable_lines(first.substr(1)).c_str());
    std::fflush(stderr);
  }
  return std::stoi(first.substr(0, 1));
}

/// Writes an error or a timeout into the rank's exit.json.
void note_failure(RankTrainer& trainer, const std::exception& why) {
  const auto* deadline = dynamic_cast<const DeadlineError*>(&why);
  if (deadline == nullptr) return trainer.failed("error");
  trainer.failed("timeout", deadline->waited_for);
}

ExitCode code_of(const std::exception& error) {
  const auto* known = dynamic_cast<const Error*>(&error);
  return known != nullptr ? known->code() : ExitCode::does_not_hold;
}

/// Prepares the rank's device, checks its free memory and creates its part of the model.
void make_trainer(std::optional<RankTrainer>& trainer, const TrainingRun& training, const PipelinePlan& plan,
                  Transport& transport, const std::filesystem::path& record) {
  const int rank = transport.rank();
  prepare_device(training, memory_of(training, plan, rank), "rank " + std::to_string(rank));
  explain_out_of_memory(memory_plan_text(training, plan, rank),
                        [&] { trainer.emplace(training, plan, transport, record); });
}

/// Runs all steps and writes exit.json; the transport is still to be finished. Returns `stopped` if a signal ended the
/// run, else `holds`, the same on every rank. On failure writes exit.json and rethrows.
ExitCode train_rank(RankTrainer& trainer, const TrainingRun& training, const PipelinePlan& plan, Transport& transport,
                    bool progress) {
  ExitCode code = ExitCode::holds;
  explain_out_of_memory(memory_plan_text(training, plan, transport.rank()), [&] {
    try {
      transport.connect(pairs_of(plan.schedule.placement, training.config.tied, plan.replicas));
      trainer.train(progress);
    } catch (const std::exception& error) {
      note_failure(trainer, error);
      throw;
    }
    code = trainer.succeeded();
  });
  return code;
}

}  // namespace

TrainingRun load_for_plan(const PipelineOptions& options) {
  TrainingRun training = load_training_run(options.run_file, options.text, options.checkpoint.assignments);
  PipelineSettings& settings = training.run.pipeline;
  if (options.schedule) settings.schedule = *options.schedule;
  if (options.transport) settings.transport = *options.transport;
  training.run.device = options.device;
  return training;
}

TrainingRun load_job(const PipelineOptions& options) {
  TrainingRun training = load_for_plan(options);
  options.checkpoint.use_in(training, !options.record.empty());
  return training;
}

TransportSettings transport_settings(const TrainingRun& training) {
  const std::chrono::milliseconds start(training.run.pipeline.start_timeout_ms);
  // A rank ends its own writing at the limit, between two tensors; the others wait for that.
  const std::chrono::milliseconds save = std::chrono::milliseconds(training.run.checkpoint.timeout_ms) + start;
  return {std::chrono::milliseconds(training.run.pipeline.timeout_ms), start, /*starting=*/true, save};
}

NcclSettings nccl_settings(const TrainingRun& training) {
  const bool host_reads_boundaries = training.recorded() && training.run.record_level >= RecordLevel::full;
  return {.device = training.device,
          .max_ctas = training.run.pipeline.max_ctas,
          .run_ahead = host_reads_boundaries ? 0 : 2};
}

int run_rank(const PipelineOptions& options, std::optional<TrainingRun> training, std::optional<Failure> failure,
             Transport& transport, const RankStart& start) {
  const bool first = transport.rank() == 0;
  PipelinePlan plan;
  std::optional<RankTrainer> trainer;
  bool claimed = false;  // whether this rank owns the record folder for the run
  // If any rank cannot go on, removes what the run created and returns the exit code on all ranks.
  const auto stopped = [&](const std::optional<Failure>& own) {
    std::optional<int> code;
    try {
      code = agree_to_stop(transport, options.program, own);
    } catch (const std::exception& error) {  // a rank that waits in vain for the others records that
      if (trainer) note_failure(*trainer, error);
      throw;
    }
    if (code) {
      trainer.reset();
      if (claimed) give_back_record_folder(options.record);
      transport.finish();
    }
    return code;
  };
  if (const auto code = stopped(failure)) return *code;
  const auto phase = [&](const std::function<void()>& body) { return stopped(failure_of(body)); };
  try {
    std::optional<int> code = phase([&] {
      plan = make_plan(*training, transport.size());
      plan.origin_ns = start.clock.origin;
      if (first) claim_record(options, plan);
      claimed = first && !options.record.empty();
    });
    if (code) return *code;
    code = phase([&] {
      if (training->device.is_cpu()) require_free_memory_everywhere(transport, *training, plan);
    });
    if (code) return *code;
    const TrainingRun whole = *training;
    training = run_of_replica(whole, plan, plan.replica_of(transport.rank()));
    code = phase([&] { make_trainer(trainer, *training, plan, transport, options.record); });
    if (code) return *code;
    code = phase([&] {
      trainer->begin();
      if (!first) return;
      begin_record(options, whole, plan, {trainer->resumed_from(), start.libraries, start.clock.skew});
      if (options.progress) tell_start(plan_text(whole, plan), whole, options.record, trainer->resumed_from());
    });
    if (code) return *code;
    const ExitCode ended = train_rank(*trainer, *training, plan, transport, options.progress);
    transport.finish();
    if (first && options.progress && ended == ExitCode::holds) tell_end(whole, options.record);
    return static_cast<int>(ended);
  } catch (const std::exception& error) {
    const ExitCode code = code_of(error);
    start.failing(code);
    transport.abort(describe_failure(error).words, code);  // prints the reason
    return static_cast<int>(code);
  }
}

}  // namespace plumbline
