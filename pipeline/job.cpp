#include "pipeline/job.hpp"

#include <chrono>
#include <cstdio>
#include <utility>

#include "pipeline/rank_memory.hpp"
#include "pipeline/transport/rank_pairs.hpp"
#include "schedule/accumulation_order.hpp"
#include "support/error.hpp"
#include "support/hash.hpp"
#include "support/machine_memory.hpp"
#include "training/gpu/gpu_module.hpp"
#include "training/gpu/gpu_start.hpp"
#include "training/manifest.hpp"
#include "training/tensor_record.hpp"

namespace plumbline {

Session load_job(const PipelineOptions& options) {
  Session session = load_session(options.run_file, options.text);
  PipelineSettings& settings = session.run.pipeline;
  if (options.schedule) {
    settings.schedule = *options.schedule;
    settings.schedule_dialect.reset();  // the run file's is of the run file's schedule
  }
  if (options.schedule_dialect) settings.schedule_dialect = *options.schedule_dialect;
  if (options.transport) settings.transport = *options.transport;
  session.run.device = options.device;
  return session;
}

void begin_record(const PipelineOptions& options, const Session& session, const PipelinePlan& plan,
                  const Json& libraries, bool one_clock) {
  const auto units = unit_names(session.config);
  std::vector<StageEntry> stages;
  std::vector<std::vector<std::string>> units_of_stages;
  for (std::size_t stage = 0; stage < plan.stages.size(); ++stage) {
    const UnitRange range = plan.stages[stage];
    stages.push_back({static_cast<std::int64_t>(stage),
                      plan.schedule.placement.rank_of(static_cast<std::int32_t>(stage)),
                      {units.begin() + range.first, units.begin() + range.end}});
  }
  for (const StageEntry& stage : stages) units_of_stages.push_back(stage.units);
  ManifestSchedule schedule;
  schedule.name = plan.schedule.name;
  schedule.chunks_per_rank = plan.schedule.placement.chunks_per_rank;
  schedule.csv = plan.schedule_csv;
  const std::string order = accumulation_csv(plan.schedule, units_of_stages);
  if (!order.empty()) {
    schedule.accumulation = "listed";
    schedule.accumulation_digest = hash_hex(order);
  }
  claim_record_folder(options.record);
  if (options.progress) {
    for (const std::string& note : plan.notes) {
      std::fprintf(stderr, "plumbline-pipeline: note: %s: %s\n", plan.schedule.name.c_str(), note.c_str());
    }
  }
  Json manifest = make_manifest("pipeline", options.command, session.run, session.config, session.plan,
                                plan.schedule.placement.ranks, schedule, stages, session.gpus);
  manifest["versions"].update(libraries);
  if (!one_clock) manifest["clock_skew_ns"] = nullptr;  // nobody compared them
  write_manifest(options.record, manifest);
  if (session.run.record_level == RecordLevel::none) return;
  write_schedule_csv(options.record, schedule.csv);
  if (!order.empty()) write_accumulation_csv(options.record, order);
}

MemoryPlan memory_of(const Session& session, const PipelinePlan& plan, int rank) {
  return plan_rank_memory(session.config, plan.stages, plan.schedule.placement.stages_on(rank),
                          plan.schedule.ranks.at(static_cast<std::size_t>(rank)), session.plan, session.run.train);
}

MemoryPlan memory_of_all(const Session& session, const PipelinePlan& plan, int world) {
  MemoryPlan all;
  for (int rank = 0; rank < world; ++rank) {
    const MemoryPlan one = memory_of(session, plan, rank);
    for (const auto part :
         {&MemoryPlan::parameters, &MemoryPlan::gradients, &MemoryPlan::optimizer, &MemoryPlan::activations}) {
      all.*part = sum_of_sizes({all.*part, one.*part});
    }
  }
  return all;
}

std::string memory_words(const MemoryPlan& need, int rank) {
  return "rank " + std::to_string(rank) + "'s plan is " + to_text(need);
}

void prepare_device(const Session& session, const MemoryPlan& need, const std::string& who) {
  if (session.device.is_cpu()) return require_memory(need, who);
  GpuDevice device;
  with_gpu_memory_words("the plan for " + who + " is " + to_text(need),
                        [&] { device = start_gpu(session.device, parse_dtype(session.run.train.dtype)); });
  const GpuFreeMemory memory = load_gpu_module().free_memory(session.device.index());
  check_fits(need, memory.free_bytes, memory.total_bytes,
             who + ", GPU " + std::to_string(session.device.index()) + " (" + device.name + ")");
}

TransportSettings transport_settings(const Session& session) {
  return {std::chrono::milliseconds(session.run.pipeline.timeout_ms)};
}

void connect(Transport& transport, const Session& session, const PipelinePlan& plan) {
  transport.connect(pairs_of(plan.schedule.placement, session.config.tied));
}

void train_rank(RankTrainer& trainer, bool progress, const std::function<void()>& connect) {
  const auto fail = [&](const char* status) {
    try {
      trainer.finish(status, static_cast<int>(ExitCode::does_not_hold));
    } catch (const Error&) {  // on a full disk exit.json is lost too; what filled it first is what counts
    }
  };
  try {
    connect();
    trainer.train(progress);
  } catch (const DeadlineError&) {
    fail("timeout");
    throw;
  } catch (const std::exception&) {
    fail("error");
    throw;
  }
  trainer.finish("ok", 0);
}

ExitCode code_of(const std::exception& error) {
  const auto* known = dynamic_cast<const Error*>(&error);
  return known != nullptr ? known->code() : ExitCode::does_not_hold;
}

}  // namespace plumbline
