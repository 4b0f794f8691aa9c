// SPDX-License-Identifier: BSD-3-Clause
#include "pipeline/job.hpp"

#include <chrono>

#include "pipeline/rank_memory.hpp"
#include "pipeline/transport/deadline_error.hpp"
#include "pipeline/transport/rank_pairs.hpp"
#include "schedule/csv_import.hpp"
#include "support/error.hpp"
#include "training/gpu/gpu_start.hpp"
#include "training/prepare_device.hpp"

namespace plumbline {

TrainingRun load_for_plan(const PipelineOptions& options) {
  TrainingRun training = load_training_run(options.run_file, options.text);
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

void make_trainer(std::optional<RankTrainer>& trainer, const TrainingRun& training, const PipelinePlan& plan,
                  Transport& transport, const std::filesystem::path& record) {
  const int rank = transport.rank();
  prepare_device(training, memory_of(training, plan, rank), "rank " + std::to_string(rank));
  explain_out_of_memory(memory_plan_text(training, plan, rank),
                        [&] { trainer.emplace(training, plan, transport, record); });
}

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

void note_failure(RankTrainer& trainer, const std::exception& why) {
  const auto* deadline = dynamic_cast<const DeadlineError*>(&why);
  if (deadline == nullptr) return trainer.failed("error");
  trainer.failed("timeout", deadline->waited_for);
}

ExitCode code_of(const std::exception& error) {
  const auto* known = dynamic_cast<const Error*>(&error);
  return known != nullptr ? known->code() : ExitCode::does_not_hold;
}

}  // namespace plumbline
