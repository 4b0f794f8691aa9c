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

#include "pipeline/gpu_ranks.hpp"
#include "pipeline/partition.hpp"
#include "pipeline/rank_memory.hpp"
#include "pipeline/rank_trainer.hpp"
#include "pipeline/transport/message_transport.hpp"
#include "pipeline/transport/mpi_link.hpp"
#include "pipeline/transport/nccl/nccl_transport.hpp"
#include "pipeline/transport/staged_payloads.hpp"
#include "pipeline/transport/threads_transport.hpp"
#include "schedule/accumulation_order.hpp"
#include "schedule/runnable.hpp"
#include "support/error.hpp"
#include "support/hash.hpp"
#include "support/text.hpp"
#include "training/environment.hpp"
#include "training/gpu/gpu_check.hpp"
#include "training/gpu/gpu_module.hpp"
#include "training/gpu/gpu_start.hpp"
#include "training/manifest.hpp"
#include "training/tensor_record.hpp"

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
  session.run.device = options.device;
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
                                               plan.schedule.placement.ranks, schedule, stages, session.gpus));
  if (session.run.record_level == RecordLevel::none) return;
  write_schedule_csv(options.record, schedule.csv);
  if (!order.empty()) write_accumulation_csv(options.record, order);
}

MemoryPlan memory_of(const Session& session, const PipelinePlan& plan, int rank) {
  return plan_rank_memory(session.config, plan.stages, plan.schedule.placement.stages_on(rank),
                          plan.schedule.ranks.at(static_cast<std::size_t>(rank)), session.plan, session.run.train);
}

std::string words_for(const MemoryPlan& need, int rank) {
  return "rank " + std::to_string(rank) + "'s plan is " + to_text(need);
}

/// This thread's GPU and its room for the rank. Throws SystemError, RunError.
void prepare_gpu(const Session& session, const MemoryPlan& need, const std::string& who) {
  if (session.device.is_cpu()) return;
  GpuDevice device;
  with_gpu_memory_words("the plan for " + who + " is " + to_text(need),
                        [&] { device = start_gpu(session.device, parse_dtype(session.run.train.dtype)); });
  const GpuFreeMemory memory = load_gpu_module().free_memory(session.device.index());
  check_fits(need, memory.free_bytes, memory.total_bytes,
             who + ", GPU " + std::to_string(session.device.index()) + " (" + device.name + ")");
}

/// What all ranks together keep on one GPU from the first step to the last.
MemoryPlan memory_of_all(const Session& session, const PipelinePlan& plan, int world) {
  MemoryPlan all;
  for (int rank = 0; rank < world; ++rank) {
    const MemoryPlan one = memory_of(session, plan, rank);
    all.parameters += one.parameters;
    all.gradients += one.gradients;
    all.optimizer += one.optimizer;
    all.activations += one.activations;
  }
  return all;
}

/// All steps, then exit.json. Throws what went wrong, after exit.json says so.
void train_rank(RankTrainer& trainer, bool progress, const std::function<void()>& connect) {
  const auto fail = [&](const char* status) {
    try {
      trainer.finish(status, static_cast<int>(ExitCode::does_not_hold));
    } catch (const Error&) {  // on a full disk exit.json is lost too; what filled it first is what counts
    }
  };
  try {
    connect();
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

void connect(Transport& transport, const Session& session, const PipelinePlan& plan) {
  transport.connect(pairs_of(plan.schedule.placement, session.config.tied));
}

int train_with_threads(const PipelineOptions& options, const SeamsFactory& make_seams) {
  Session session = load(options);
  if (options.device == "cuda") {
    session.device = at::Device(at::kCUDA, 0);
    session.gpus = {load_gpu_module().device(0).name};
  }
  const int world = options.world.value_or(1);
  PipelinePlan plan = make_plan(session, world, *make_seams(0));
  prepare_gpu(session, memory_of_all(session, plan, world), "all " + std::to_string(world) + " ranks");
  plan.origin_ns = monotonic_ns();
  begin_record(options, session, plan);
  auto transports = options.make_transports
                        ? options.make_transports(world, transport_settings(session))
                        : make_threads_transports(world, transport_settings(session), session.device);
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
        const MemoryPlan need = memory_of(session, plan, rank);
        prepare_gpu(session, need, "rank " + std::to_string(rank));
        with_gpu_memory_words(words_for(need, rank), [&] {
          RankTrainer trainer(session, plan, transport, *seams, options.record);
          train_rank(trainer, options.progress, [&] { connect(transport, session, plan); });
        });
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

GpuApi real_gpu_api() {
  const auto cuda = reinterpret_cast<CudaApi* (*)()>(gpu_module_entry("plumbline_cuda_api"));
  const auto nccl = reinterpret_cast<NcclApi* (*)()>(gpu_module_entry("plumbline_nccl_api"));
  return {*cuda(), *nccl()};
}

/// This rank's GPU, from what all ranks see; `ranks` in rank order.
void take_gpu(const PipelineOptions& options, const std::vector<RankGpus>& ranks, int rank, Session& session) {
  // A rank that sees none has said why already, and says it to all.
  if (std::ranges::any_of(ranks, [](const RankGpus& each) { return each.devices.empty(); })) return;
  GpuSharing sharing;
  sharing.mixed_models = options.mixed_gpus;
  const bool nccl = session.run.pipeline.transport == "nccl";
  const std::string why_not = nccl ? why_nccl_needs_one_gpu_a_rank_here(load_gpu_module()) : "";
  sharing.several_ranks_per_gpu = why_not.empty();
  std::vector<int> assigned;
  try {
    assigned = assign_gpus(ranks, sharing);
  } catch (const InputError& error) {
    throw InputError(error.what() + (why_not.empty() ? "" : ". " + why_not));
  }
  session.device = at::Device(at::kCUDA, static_cast<at::DeviceIndex>(assigned.at(static_cast<std::size_t>(rank))));
  session.gpus = models_used(ranks, assigned);
  load_gpu_module().use(session.device.index());
}

/// The ranks' messages over MPI, and on GPUs their payloads over NCCL or through host memory. Collective: a rank that
/// is kept from going on (`hindrance`, which this may add to) takes part, so that all hear of it.
std::unique_ptr<Transport> open_mpi_job(const PipelineOptions& options, Session* session, Hindrance& hindrance) {
  const TransportSettings settings = session != nullptr ? transport_settings(*session) : TransportSettings{};
  std::unique_ptr<Link> link = make_mpi_link({});
  if (options.device != "cpu") {
    const bool able = session != nullptr && hindrance.words.empty();
    const std::vector<RankGpus> ranks =
        exchange_gpus(*link, able ? visible_gpus(load_gpu_module()) : RankGpus{}, settings.start_timeout);
    if (able) hindrance = hindrance_in([&] { take_gpu(options, ranks, link->rank(), *session); });
  }
  const at::Device device = session != nullptr ? session->device : at::kCPU;
  if (!device.is_cpu() && session->run.pipeline.transport == "nccl") {
    NcclSettings nccl;
    nccl.device = device;
    return make_nccl_transport(std::move(link), real_gpu_api(), settings, nccl);
  }
  auto payloads = make_staged_payloads(*link, device);
  return std::make_unique<MessageTransport>(std::move(link), settings, std::move(payloads));
}

int train_with_mpi(const PipelineOptions& options, const SeamsFactory& make_seams, Hindrance refusal) {
  std::optional<Session> session;
  if (refusal.words.empty()) refusal = hindrance_in([&] { session = load(options); });
  const auto transport = open_mpi_job(options, session ? &*session : nullptr, refusal);
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

  const MemoryPlan need = memory_of(*session, plan, transport->rank());
  const std::string memory_words = words_for(need, transport->rank());
  std::optional<RankTrainer> trainer;
  const Hindrance no_trainer = hindrance_in([&] {
    prepare_gpu(*session, need, "rank " + std::to_string(transport->rank()));
    with_gpu_memory_words(memory_words, [&] { trainer.emplace(*session, plan, *transport, *seams, options.record); });
  });
  if (const auto code = agree_to_stop(*transport, no_trainer)) {
    trainer.reset();
    if (transport->rank() == 0) give_back_record_folder(options.record);
    return leave(*code);
  }
  try {
    with_gpu_memory_words(
        memory_words, [&] { train_rank(*trainer, options.progress, [&] { connect(*transport, *session, plan); }); });
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
  if (transport != "threads" && options.world) {
    throw InputError("--world goes with --transport threads; with " + transport + ", mpirun -n says how many ranks");
  }
  const std::vector<std::string> known = transports_of_this_build();
  if (std::ranges::find(known, transport) == known.end()) {
    throw InputError("transport \"" + transport + "\" is not in this build; it has " + join(known, ", ") +
                     (transport == "nccl" ? "; make cuda makes one that has it" : ""));
  }
  if (transport == "nccl" && options.device != "cuda") {
    throw InputError("transport nccl moves tensors between GPUs; give --device cuda with it");
  }
  return transport;
}

}  // namespace

std::vector<std::string> transports_of_this_build() {
  std::vector<std::string> transports{"mpi", "threads"};
  if (has_gpu_module()) transports.push_back("nccl");
  return transports;
}

int refuse(const PipelineOptions& options, const Error& error) {
  if (started_by_a_launcher()) return train_with_mpi(options, {}, {error.what(), error.code()});
  std::fprintf(stderr, "plumbline-pipeline: %s\n", error.what());
  return static_cast<int>(error.code());
}

int train_pipeline(const PipelineOptions& options, const SeamsFactory& make_seams) {
  std::string transport;
  try {
    transport = chosen_transport(options);
    if (options.device == "cuda") open_gpus();  // before anything asks LibTorch whether there is CUDA
  } catch (const Error& error) {
    return refuse(options, error);
  }
  apply_deterministic_settings();
  install_memory_meter();
  if (transport == "threads") return train_with_threads(options, make_seams);
  return train_with_mpi(options, make_seams, {});
}

}  // namespace plumbline
