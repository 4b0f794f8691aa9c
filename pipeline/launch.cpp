#include "pipeline/launch.hpp"

#include <ATen/Parallel.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <mutex>
#include <thread>
#include <utility>

#include "pipeline/partition.hpp"
#include "pipeline/rank_trainer.hpp"
#include "pipeline/transport/mpi_transport.hpp"
#include "pipeline/transport/threads_transport.hpp"
#include "support/error.hpp"
#include "training/environment.hpp"
#include "training/manifest.hpp"

namespace plumbline {
namespace {

Session load(const PipelineOptions& options) {
  Session session = load_session(options.run_file, options.text);
  if (options.schedule) session.run.pipeline.schedule = *options.schedule;
  if (options.transport) session.run.pipeline.transport = *options.transport;
  return session;
}

PipelinePlan make_plan(const Session& session, int world, TrainerSeams& seams) {
  const PipelineSettings& settings = session.run.pipeline;
  PipelinePlan plan;
  plan.schedule =
      make_schedule(settings.schedule, world, static_cast<std::int32_t>(session.plan.microbatches()), settings.chunks);
  plan.stages = seams.partition(partition(session.config, settings, plan.schedule.placement.stages(), session.plan));
  return plan;
}

/// What rank 0 does before any rank begins: the folder is this run's, and says what it will hold.
void begin_record(const PipelineOptions& options, const Session& session, const PipelinePlan& plan) {
  const auto units = unit_names(session.config);
  std::vector<StageEntry> stages;
  for (std::size_t stage = 0; stage < plan.stages.size(); ++stage) {
    const UnitRange range = plan.stages[stage];
    stages.push_back({static_cast<std::int64_t>(stage),
                      plan.schedule.placement.rank_of(static_cast<std::int32_t>(stage)),
                      {units.begin() + range.first, units.begin() + range.end}});
  }
  ManifestSchedule schedule;
  schedule.name = plan.schedule.name;
  schedule.chunks_per_rank = plan.schedule.placement.chunks_per_rank;
  schedule.csv = to_csv(plan.schedule);
  claim_record_folder(options.record);
  write_manifest(options.record, make_manifest("pipeline", options.command, session.run, session.config, session.plan,
                                               plan.schedule.placement.ranks, schedule, stages));
  if (session.run.record_level != RecordLevel::none) write_schedule_csv(options.record, schedule.csv);
}

/// One rank from its first parameter to exit.json. Throws what went wrong, after exit.json says so.
void train_rank(const PipelineOptions& options, const Session& session, const PipelinePlan& plan, Transport& transport,
                TrainerSeams& seams) {
  RankTrainer trainer(session, plan, transport, seams, options.record);
  try {
    trainer.run(options.progress);
  } catch (const DeadlineError&) {
    trainer.finish("timeout", static_cast<int>(ExitCode::does_not_hold));
    throw;
  } catch (const std::exception&) {
    trainer.finish("error", static_cast<int>(ExitCode::does_not_hold));
    throw;
  }
  trainer.finish("ok", 0);
}

/// What a failure is to whoever started the program.
ExitCode code_of(const std::exception& error) {
  const auto* known = dynamic_cast<const Error*>(&error);
  return known != nullptr ? known->code() : ExitCode::does_not_hold;
}

TransportSettings transport_settings(const Session& session) {
  return {std::chrono::milliseconds(session.run.pipeline.timeout_ms)};
}

int train_with_threads(const PipelineOptions& options, const SeamsFactory& make_seams) {
  const Session session = load(options);
  const int world = options.world.value_or(1);
  PipelinePlan plan = make_plan(session, world, *make_seams(0));
  plan.origin_ns = monotonic_ns();
  begin_record(options, session, plan);
  auto transports = make_threads_transports(world, transport_settings(session));
  std::mutex lock;
  std::optional<ExitCode> failure;
  std::vector<std::jthread> threads;
  for (int rank = 0; rank < world; ++rank) {
    threads.emplace_back([&, rank] {
      Transport& transport = *transports[static_cast<std::size_t>(rank)];
      try {
        new_memory_meter().attach();
        at::set_num_threads(1);  // OpenMP keeps this number a thread
        const auto seams = make_seams(rank);
        train_rank(options, session, plan, transport, *seams);
        transport.finish();
      } catch (const std::exception& error) {
        const std::lock_guard guard(lock);
        // the first failure is the cause; the others only waited for this rank
        if (!failure) {
          failure = code_of(error);
          std::fprintf(stderr, "plumbline-pipeline: rank %d: %s\n", rank, error.what());
        }
        transport.abort(error.what());
      }
    });
  }
  threads.clear();
  return static_cast<int>(failure.value_or(ExitCode::holds));
}

/// Rank 0 makes ready and tells the others; what stops it is reported once, not once a rank.
std::optional<PipelinePlan> agree_on_plan(const PipelineOptions& options, const std::optional<Session>& session,
                                          const std::exception_ptr& load_error, Transport& transport,
                                          TrainerSeams& seams) {
  const std::string ready = "ready ";
  std::exception_ptr error = load_error;
  std::string word;
  PipelinePlan plan;
  if (transport.rank() == 0) {
    try {
      if (!error) {
        plan = make_plan(*session, transport.world_size(), seams);
        begin_record(options, *session, plan);
        word = ready + std::to_string(monotonic_ns());
      }
    } catch (const std::exception&) {
      error = std::current_exception();
    }
  }
  word = transport.broadcast(word);
  const bool go = word.starts_with(ready);
  if (error && (go || transport.rank() == 0)) std::rethrow_exception(error);
  if (!go) return std::nullopt;
  if (transport.rank() != 0) plan = make_plan(*session, transport.world_size(), seams);
  plan.origin_ns = std::stoll(word.substr(ready.size()));
  return plan;
}

int train_with_mpi(const PipelineOptions& options, const SeamsFactory& make_seams) {
  std::optional<Session> session;
  std::exception_ptr load_error;
  try {
    session = load(options);
  } catch (const Error&) {
    load_error = std::current_exception();
  }
  const auto transport = make_mpi_transport(session ? transport_settings(*session) : TransportSettings{});
  const auto seams = make_seams(transport->rank());
  std::optional<PipelinePlan> plan;
  try {
    plan = agree_on_plan(options, session, load_error, *transport, *seams);
  } catch (const Error& error) {
    if (transport->rank() != 0) transport->abort(error.what(), error.code());  // rank 0 goes on and would wait for us
    transport->finish();
    throw;
  }
  if (!plan) {  // rank 0 has said why
    transport->finish();
    return static_cast<int>(ExitCode::bad_input);
  }
  try {
    train_rank(options, *session, *plan, *transport, *seams);
    transport->finish();
    return static_cast<int>(ExitCode::holds);
  } catch (const std::exception& error) {
    transport->abort(error.what(), code_of(error));  // says why
    return static_cast<int>(code_of(error));
  }
}

}  // namespace

int train_pipeline(const PipelineOptions& options, const SeamsFactory& make_seams) {
  apply_deterministic_settings();
  install_memory_meter();
  const std::string transport =
      options.transport ? *options.transport : load_run_file(options.run_file).pipeline.transport;
  if (transport == "threads") return train_with_threads(options, make_seams);
  if (transport != "mpi") {
    throw InputError("transport \"" + transport + "\" is not in this build; it has mpi and threads");
  }
  if (options.world) throw InputError("--world goes with --transport threads; with mpi, mpirun -n says how many ranks");
  return train_with_mpi(options, make_seams);
}

}  // namespace plumbline
