#include "pipeline/launch.hpp"

#include <ATen/Parallel.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <mutex>
#include <thread>
#include <utility>

#include "pipeline/partition.hpp"
#include "pipeline/rank_trainer.hpp"
#include "pipeline/transport/mpi_transport.hpp"
#include "pipeline/transport/threads_transport.hpp"
#include "schedule/accumulation_order.hpp"
#include "schedule/runnable.hpp"
#include "support/error.hpp"
#include "support/hash.hpp"
#include "training/environment.hpp"
#include "training/manifest.hpp"

namespace plumbline {
namespace {

Session load(const PipelineOptions& options) {
  Session session = load_session(options.run_file, options.text);
  PipelineSettings& settings = session.run.pipeline;
  if (options.schedule) {
    settings.schedule = *options.schedule;
    settings.schedule_dialect.reset();  // the run file's is of the run file's schedule
  }
  if (options.schedule_dialect) settings.schedule_dialect = *options.schedule_dialect;
  if (options.transport) settings.transport = *options.transport;
  return session;
}

std::optional<CsvDialect> dialect_of(const PipelineSettings& settings) {
  if (!settings.schedule_dialect) return std::nullopt;
  const auto dialect = parse_csv_dialect(*settings.schedule_dialect);
  if (!dialect) {
    throw InputError("schedule dialect \"" + *settings.schedule_dialect +
                     "\" is unknown; give torch, torch-old or plumbline");
  }
  if (!names_schedule_file(settings.schedule)) {
    throw InputError("the schedule " + settings.schedule + " is no file and has no dialect; remove it");
  }
  return dialect;
}

RunnableSchedule schedule_of(const Session& session, int world) {
  const PipelineSettings& settings = session.run.pipeline;
  ScheduleRequest request;
  request.schedule = settings.schedule;
  request.dialect = dialect_of(settings);
  request.dialect_option = "--schedule-dialect (or pipeline.schedule_dialect)";
  request.ranks = world;
  request.microbatches = static_cast<std::int32_t>(session.plan.microbatches());
  request.chunks = settings.chunks;
  request.tied = session.config.tied;
  request.model = model_of_transport(settings.transport).value_or(ExecutionModel::blocking);
  return make_runnable(request);
}

PipelinePlan make_plan(const Session& session, int world, TrainerSeams& seams) try {
  const PipelineSettings& settings = session.run.pipeline;
  PipelinePlan plan;
  RunnableSchedule runnable = schedule_of(session, world);
  plan.schedule_csv = runnable.csv();
  plan.notes = std::move(runnable.notes);
  plan.schedule = std::move(runnable.compute);
  plan.lowered = std::move(runnable.lowered);
  plan.stages = seams.partition(partition(session.config, settings, plan.schedule.placement.stages(), session.plan));
  return plan;
} catch (const InputError& error) {  // they see settings, not where those were written
  throw InputError(session.run.path.string() + ": " + error.what());
}

/// What rank 0 does before any rank begins: the folder is this run's, and says what it will hold.
void begin_record(const PipelineOptions& options, const Session& session, const PipelinePlan& plan) {
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
  write_manifest(options.record, make_manifest("pipeline", options.command, session.run, session.config, session.plan,
                                               plan.schedule.placement.ranks, schedule, stages));
  if (session.run.record_level == RecordLevel::none) return;
  write_schedule_csv(options.record, schedule.csv);
  if (!order.empty()) write_accumulation_csv(options.record, order);
}

/// All steps, then exit.json. Throws what went wrong, after exit.json says so.
void train_rank(RankTrainer& trainer, bool progress) {
  const auto fail = [&](const char* status) {
    try {
      trainer.finish(status, static_cast<int>(ExitCode::does_not_hold));
    } catch (const Error&) {  // on a full disk exit.json is lost too; what filled it first is what counts
    }
  };
  try {
    trainer.run(progress);
  } catch (const DeadlineError&) {
    fail("timeout");
    throw;
  } catch (const std::exception&) {
    fail("error");
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
        RankTrainer trainer(session, plan, transport, *seams, options.record);
        train_rank(trainer, options.progress);
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

/// What keeps a rank from beginning; no words when nothing does.
struct Hindrance {
  std::string words;
  ExitCode code = ExitCode::holds;
};

Hindrance hindrance_in(const std::function<void()>& body) {
  try {
    body();
  } catch (const Error& error) {
    return {error.what(), error.code()};
  }
  return {};
}

/// Collective: whether any rank is kept from going on, and then the exit code for all. Most faults are found by every
/// rank, so rank 0 says the lowest rank's once; and it says it while the others wait for it, because mpirun ends the
/// rest of a job as soon as one rank has left with a failure.
std::optional<int> agree_to_stop(Transport& transport, const Hindrance& own) {
  std::string word = own.words.empty() ? "" : std::to_string(static_cast<int>(own.code)) + own.words;
  const std::vector<std::string> all = transport.gather(word);
  const auto first = std::ranges::find_if(all, [](const std::string& each) { return !each.empty(); });
  word.clear();
  if (first != all.end()) {
    const auto rank = first - all.begin();
    std::fprintf(stderr, "plumbline-pipeline: %s%s\n", rank > 0 ? ("rank " + std::to_string(rank) + ": ").c_str() : "",
                 first->c_str() + 1);
    std::fflush(stderr);
    word = first->substr(0, 1);
  }
  word = transport.broadcast(word);
  if (word.empty()) return std::nullopt;
  return std::stoi(word);
}

int train_with_mpi(const PipelineOptions& options, const SeamsFactory& make_seams, Hindrance refusal) {
  std::optional<Session> session;
  if (refusal.words.empty()) refusal = hindrance_in([&] { session = load(options); });
  const auto transport = make_mpi_transport(session ? transport_settings(*session) : TransportSettings{});
  const auto leave = [&](int code) {
    transport->finish();
    return code;
  };
  if (const auto code = agree_to_stop(*transport, refusal)) return leave(*code);

  const auto seams = make_seams(transport->rank());
  PipelinePlan plan;
  const Hindrance no_plan = hindrance_in([&] {
    plan = make_plan(*session, transport->world_size(), *seams);
    if (transport->rank() == 0) begin_record(options, *session, plan);
  });
  if (const auto code = agree_to_stop(*transport, no_plan)) return leave(*code);
  plan.origin_ns = std::stoll(transport->broadcast(std::to_string(monotonic_ns())));

  std::optional<RankTrainer> trainer;
  const Hindrance no_trainer =
      hindrance_in([&] { trainer.emplace(*session, plan, *transport, *seams, options.record); });
  if (const auto code = agree_to_stop(*transport, no_trainer)) {
    trainer.reset();
    if (transport->rank() == 0) give_back_record_folder(options.record);
    return leave(*code);
  }
  try {
    train_rank(*trainer, options.progress);
    transport->finish();
    return static_cast<int>(ExitCode::holds);
  } catch (const std::exception& error) {
    transport->abort(error.what(), code_of(error));  // says why
    return static_cast<int>(code_of(error));
  }
}

/// Whether an MPI launcher has started this process, so that there may be others like it.
bool started_by_a_launcher() {
  return std::ranges::any_of(std::array{"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "PMIX_RANK"},
                             [](const char* name) { return std::getenv(name) != nullptr; });
}

/// Throws InputError when the options do not go together.
std::string chosen_transport(const PipelineOptions& options) {
  if (options.run_file.empty() || options.record.empty()) {
    throw InputError("give a run file and --record DIR; see --help");
  }
  std::string transport = options.transport ? *options.transport : load_run_file(options.run_file).pipeline.transport;
  if (transport == "mpi" && options.world) {
    throw InputError("--world goes with --transport threads; with mpi, mpirun -n says how many ranks");
  }
  if (transport != "mpi" && transport != "threads") {
    throw InputError("transport \"" + transport + "\" is not in this build; it has mpi and threads");
  }
  return transport;
}

}  // namespace

int refuse(const PipelineOptions& options, const Error& error) {
  if (started_by_a_launcher()) return train_with_mpi(options, {}, {error.what(), error.code()});
  std::fprintf(stderr, "plumbline-pipeline: %s\n", error.what());
  return static_cast<int>(error.code());
}

int train_pipeline(const PipelineOptions& options, const SeamsFactory& make_seams) {
  apply_deterministic_settings();
  install_memory_meter();
  std::string transport;
  try {
    transport = chosen_transport(options);
  } catch (const Error& error) {
    return refuse(options, error);
  }
  if (transport == "threads") return train_with_threads(options, make_seams);
  return train_with_mpi(options, make_seams, {});
}

}  // namespace plumbline
