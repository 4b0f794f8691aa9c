// SPDX-License-Identifier: BSD-3-Clause
#include "pipeline/job.hpp"

#include <chrono>
#include <cstdio>
#include <utility>

#include "model/unit.hpp"
#include "pipeline/memory.hpp"
#include "pipeline/pipeline_plan.hpp"
#include "pipeline/rank_trainer.hpp"
#include "pipeline/transport/group.hpp"
#include "pipeline/transport/message.hpp"
#include "record/writer.hpp"
#include "schedule/accumulation_order.hpp"
#include "schedule/csv_import.hpp"
#include "support/error.hpp"
#include "support/plain_text.hpp"
#include "training/gpu/prepare_device.hpp"
#include "training/manifest.hpp"
#include "training/run_description.hpp"

namespace plumbline {

namespace {

/// Collective. If any rank cannot continue, returns the exit code for all ranks. Most errors are detected by every
/// rank, so rank 0 prints only the lowest rank's, while the others wait: mpirun kills the rest of a job as soon as one
/// rank exits with a failure.
std::optional<int> agree_to_stop(Transport& transport, const std::optional<Failure>& own) {
  const std::string rank = transport.rank() > 0 ? "rank " + std::to_string(transport.rank()) + ": " : "";
  const std::string first =
      transport.first_nonempty(own ? std::to_string(static_cast<int>(own->code)) + rank + own->words : "");
  if (first.empty()) return std::nullopt;
  if (transport.rank() == 0) {
    std::fprintf(stderr, "%s: %s\n", pipeline_program, printable_lines(first.substr(1)).c_str());
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

/// Prepares the rank's GPU, if it has one, and creates its part of the model.
void make_trainer(std::optional<RankTrainer>& trainer, const Run& run, const PipelinePlan& plan, Transport& transport,
                  const std::filesystem::path& record) {
  const int rank = transport.rank();
  prepare_device(run, memory_of(run, plan, rank), "rank " + std::to_string(rank));
  explain_out_of_memory(memory_plan_text(run, plan, rank), [&] { trainer.emplace(run, plan, transport, record); });
}

/// Runs all steps and writes exit.json; the transport is still to be finished. Returns `stopped` if a signal ended the
/// run, else `holds`, the same on every rank. On failure writes exit.json and rethrows.
ExitCode train_rank(RankTrainer& trainer, const Run& run, const PipelinePlan& plan, Transport& transport,
                    bool progress) {
  ExitCode code = ExitCode::holds;
  explain_out_of_memory(memory_plan_text(run, plan, transport.rank()), [&] {
    try {
      transport.connect(connections_of(plan.schedule.placement, run.config.tied, plan.replicas));
      trainer.train(progress);
    } catch (const std::exception& error) {
      note_failure(trainer, error);
      throw;
    }
    code = trainer.succeeded();
  });
  return code;
}

Json mesh_json(const PipelinePlan& plan, int replica) {
  std::vector<std::vector<int>> ranks(static_cast<std::size_t>(plan.replicas));
  for (int rank = 0; rank < plan.world(); ++rank)
    ranks[static_cast<std::size_t>(plan.replica_of(rank))].push_back(rank);
  const Json replicas = {{"name", "replica"}, {"size", plan.replicas}, {"kind", "replicate"}};
  const Json stages = {{"name", "pipeline"}, {"size", plan.ranks()}, {"kind", "pipeline"}};
  return {{"axes", Json::array({replicas, stages})}, {"replicas", ranks}, {"replica", replica}};
}

}  // namespace

int run_rank(const PipelineOptions& options, const Run* run, const std::optional<Failure>& failure,
             Transport& transport, const RankStart& start) {
  const bool first = transport.rank() == 0;
  PipelinePlan plan;
  std::optional<RankTrainer> trainer;
  bool claimed = false;  // whether this rank owns the record folder for the run
  // If any rank cannot go on, removes what the run created and returns the exit code on all ranks.
  const auto stopped = [&](const std::optional<Failure>& own) {
    std::optional<int> code;
    try {
      code = agree_to_stop(transport, own);
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
      plan = make_plan(*run, transport.size());
      plan.origin_ns = start.clock.origin;
      if (first) claim_record(options, plan);
      claimed = first && !options.record.empty();
    });
    if (code) return *code;
    code = phase([&] {
      if (run->device.is_cpu()) require_free_memory_everywhere(transport, *run, plan);
    });
    if (code) return *code;
    code = phase([&] { make_trainer(trainer, *run, plan, transport, options.record); });
    if (code) return *code;
    code = phase([&] {
      trainer->begin();
      if (!first) return;
      begin_record(options, *run, plan, {trainer->resumed_from(), start.libraries, start.clock.skew});
      if (options.progress)
        tell_start(describe_run(*run, plan_json(*run, plan)), *run, options.record, trainer->resumed_from());
    });
    if (code) return *code;
    const ExitCode ended = train_rank(*trainer, *run, plan, transport, options.progress);
    transport.finish();
    if (first && options.progress && ended == ExitCode::holds) tell_end(*run, options.record);
    return static_cast<int>(ended);
  } catch (const std::exception& error) {
    const ExitCode code = code_of(error);
    start.failing(code);
    transport.abort(describe_failure(error).words, code);  // prints the reason
    return static_cast<int>(code);
  }
}

void claim_record(const PipelineOptions& options, const PipelinePlan& plan) {
  if (!options.record.empty()) claim_record_folder(options.record);
  if (!options.progress) return;
  for (const std::string& note : plan.notes) {
    std::fprintf(stderr, "%s: note: %s: %s\n", pipeline_program, plan.schedule.name.c_str(), note.c_str());
  }
}

void begin_record(const PipelineOptions& options, const Run& run, const PipelinePlan& plan, const RecordStart& start) {
  if (options.record.empty()) return;
  const std::vector<StageEntry> stages = stage_entries(run, plan);
  std::vector<std::vector<std::string>> units;
  for (const StageEntry& stage : stages) units.push_back(stage.units);
  const ManifestSchedule schedule{.name = plan.schedule.name,
                                  .chunks_per_rank = plan.schedule.placement.chunks_per_rank,
                                  .microbatches = run.batches.microbatches() / plan.replicas,
                                  .csv = plan.schedule_csv,
                                  .accumulation = accumulation_csv(plan.schedule, units, plan.replicas)};
  Json manifest = make_manifest("pipeline", options.command, run, plan.ranks(), schedule, stages, start.resumed_from);
  manifest["versions"].update(start.libraries);
  manifest["clock_skew_ns"] = start.clock_skew_ns;
  for (int replica = 0; replica < plan.replicas; ++replica) {
    if (plan.replicas > 1) manifest["mesh"] = mesh_json(plan, replica);
    write_record_start(plan.folders(options.record).pipeline_of(replica * plan.ranks()), run, manifest, schedule);
  }
}

}  // namespace plumbline
