#include "reference/trainer.hpp"

#include <ATen/Tensor.h>
#include <ATen/ops/ones.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "record/progress_page.hpp"
#include "reference/accumulation.hpp"
#include "reference/unit_meter.hpp"
#include "support/error.hpp"
#include "support/files.hpp"
#include "support/hash.hpp"
#include "support/progress_line.hpp"
#include "training/action_log.hpp"
#include "training/environment.hpp"
#include "training/fed_data.hpp"
#include "training/gpu/gpu_check.hpp"
#include "training/gpu/gpu_memory_log.hpp"
#include "training/gpu/gpu_module.hpp"
#include "training/gpu/gpu_start.hpp"
#include "training/gradient_norm.hpp"
#include "training/graph_edges.hpp"
#include "training/initial_values.hpp"
#include "training/loss.hpp"
#include "training/manifest.hpp"
#include "training/memory_plan.hpp"
#include "training/step_end.hpp"
#include "training/step_losses.hpp"
#include "training/tensor_record.hpp"

namespace plumbline {
namespace {

/// schedule.csv of one device: forward and backward of each microbatch in turn.
std::string sequential_list(std::int64_t microbatches) {
  std::string line;
  for (std::int64_t microbatch = 0; microbatch < microbatches; ++microbatch) {
    const std::string number = std::to_string(microbatch);
    line += (line.empty() ? "0F" : ",0F") + number + ",0B" + number;
  }
  return line + "\n";
}

/// What makes a run one that measures rounding instead of one to be compared in bits.
struct Variant {
  std::optional<std::uint64_t> perturb;
  std::optional<std::string> shadow_of;  ///< the dtype of the run that a float64 one stands beside
};

class ReferenceTrainer {
 public:
  ReferenceTrainer(const Session& session, const Variant& variant, const std::filesystem::path& record,
                   std::optional<ListedAccumulation> listed);
  void run(bool show_progress);
  void finish(const std::string& status, int code);

 private:
  void microbatch(std::int64_t step, std::int64_t microbatch);
  void measure_split_backward();
  void step(std::int64_t step);

  const Session& session_;
  std::vector<std::string> units_;
  MemoryMeter& meter_;
  LlamaSlice slice_;
  Optimizer optimizer_;
  RecordWriter writer_;
  StepRecorder recorder_;
  ActionLog actions_;
  GpuMemoryLog gpu_memory_;
  ProgressPage page_;
  std::optional<ListedAccumulation> listed_;
  std::vector<std::vector<SavedRow>> split_rows_;  ///< by microbatch: what a split backward pass needs
  StepLosses losses_;
  FedData fed_;
  std::int64_t activation_peak_ = 0;
};

UnitRange all_units(const Session& session) {
  return {0, session.config.layers + 3};
}

LlamaSlice make_slice(const Session& session, const Variant& variant) {
  LlamaSlice slice = [&] {
    const MemoryScope scope(MemoryOwner::parameters);
    return LlamaSlice(session.config, all_units(session), parse_dtype(session.run.train.dtype), session.device);
  }();
  {
    const MemoryScope scope(MemoryOwner::gradients);
    slice.allocate_gradients();
  }
  const MemoryScope scope(MemoryOwner::tables);
  // A shadow shares the constants of the model it stands beside: they are no error of that model's arithmetic.
  std::optional<at::ScalarType> made_in;
  if (variant.shadow_of) made_in = parse_dtype(*variant.shadow_of);
  slice.prepare_tables(session.plan.longest_sequence(), made_in);
  return slice;
}

ReferenceTrainer::ReferenceTrainer(const Session& session, const Variant& variant, const std::filesystem::path& record,
                                   std::optional<ListedAccumulation> listed)
    : session_(session),
      units_(unit_names(session.config)),
      meter_(this_thread_meter()),
      slice_(make_slice(session, variant)),
      optimizer_(session.run.train.optimizer, slice_.parameters()),
      writer_(record, 0, session.run.record_level, /*with_saved=*/true),
      recorder_(writer_),
      actions_(writer_, monotonic_ns(), session.gpu()),
      gpu_memory_(writer_.folder(), session.record_gpu(), session.device.index(), GpuProcess::one_rank),
      page_(writer_.folder() / "progress"),
      listed_(std::move(listed)),
      fed_(session.plan.microbatches()) {
  const MemoryScope scope(MemoryOwner::other);
  if (variant.shadow_of) {
    LlamaSlice own(session.config, all_units(session), parse_dtype(*variant.shadow_of), session.device);
    set_initial_values(own, session.run);
    take_values(slice_, own);
  } else {
    set_initial_values(slice_, session.run);
  }
  if (variant.perturb) perturb(slice_, *variant.perturb);
}

void ReferenceTrainer::microbatch(std::int64_t step, std::int64_t microbatch) {
  Microbatch made = session_.plan.make(step, microbatch);
  fed_.take(microbatch, made);
  Microbatch data = to_device(std::move(made), session_.device);
  UnitMeter unit_meter(meter_, recorder_, units_, step, microbatch);
  const MemoryScope scope(MemoryOwner::activations);
  const auto number = std::to_string(microbatch);
  const auto narrow = static_cast<std::int32_t>(microbatch);

  page_.update({.step = step, .action_index = 2 * microbatch, .microbatch = narrow, .action = "0F" + number});
  const std::size_t forward = actions_.begin("0F" + number, 0, microbatch);
  at::Tensor loss = forward_units(slice_, std::move(data.ids),
                                  {data.labels, session_.plan.step_valid_tokens(), token_weighted_loss}, &unit_meter);
  losses_.set(microbatch, loss);
  GraphEnd graph(loss);
  const at::TensorOptions scalar = loss.options();
  loss.reset();  // only the graph's edge is kept: the scalar's storage is no activation
  actions_.end(forward);
  const std::int64_t forward_peak = unit_meter.take_peak();
  actions_.set_peak(forward, forward_peak);

  page_.update({.step = step, .action_index = 2 * microbatch + 1, .microbatch = narrow, .action = "0B" + number});
  const std::size_t backward = actions_.begin("0B" + number, 0, microbatch);
  unit_meter.begin_backward();
  graph.backward(at::ones({}, scalar));
  unit_meter.end_backward();
  actions_.end(backward);
  const std::int64_t backward_peak = unit_meter.take_peak();
  actions_.set_peak(backward, backward_peak);

  activation_peak_ = std::max({activation_peak_, forward_peak, backward_peak});
  if (listed_) listed_->take(microbatch, slice_.parameters());
  if (step == 0) {
    for (std::size_t unit = 0; unit < units_.size(); ++unit) {
      SavedRow row = unit_meter.rows()[unit];
      if (!split_rows_.empty()) {
        const SavedRow& split = split_rows_[static_cast<std::size_t>(microbatch)][unit];
        row.input_bytes = split.input_bytes;
        row.retained_bytes = split.retained_bytes;
        row.weight_bytes = split.weight_bytes;
      }
      writer_.add(std::move(row));
    }
  }
}

/// A pass over the first step's microbatches whose gradients are thrown away: the bytes of schedules that split the
/// backward pass.
void ReferenceTrainer::measure_split_backward() {
  const std::int64_t valid_tokens = session_.plan.step_valid_tokens();
  for (std::int64_t index = 0; index < session_.plan.microbatches(); ++index) {
    Microbatch data = to_device(session_.plan.make(0, index), session_.device);
    DeferredWeights deferred;
    UnitMeter unit_meter(meter_, deferred, units_, index);
    const MemoryScope scope(MemoryOwner::activations);
    at::Tensor loss =
        forward_units(slice_, std::move(data.ids), {data.labels, valid_tokens, token_weighted_loss}, &unit_meter);
    GraphEnd graph(loss);
    const at::TensorOptions scalar = loss.options();
    loss.reset();
    {
      const DeferWeightsScope defer(deferred);
      unit_meter.begin_backward();
      graph.backward(at::ones({}, scalar));
      unit_meter.end_backward();
    }
    unit_meter.run_deferred();
    split_rows_.push_back(unit_meter.rows());
  }
}

void ReferenceTrainer::step(std::int64_t step) {
  const std::int64_t begin_ns = monotonic_ns();
  begin_step_memory(meter_);
  gpu_memory_.begin_step();
  activation_peak_ = 0;
  losses_.begin(session_.plan.microbatches());
  zero_gradients(slice_.parameters());
  for (std::int64_t index = 0; index < session_.plan.microbatches(); ++index) microbatch(step, index);

  page_.update({.step = step, .action_index = 2 * session_.plan.microbatches(), .action = "0STEP"});
  const std::size_t action = actions_.begin("0STEP", 0, std::nullopt);
  if (listed_) listed_->add_all(slice_.parameters());
  recorder_.tied_uses(slice_.parameters());
  add_tied_uses(slice_.parameters());
  recorder_.gradients(step, 0, slice_.parameters());
  const double norm = total_norm(session_.config, gradient_norms(session_.config, slice_.parameters()));
  const StepUpdate update = update_parameters(session_.run.train, step, norm, slice_.parameters(), optimizer_);
  recorder_.parameters(step, 0, slice_.parameters());
  recorder_.moments(step, 0, slice_.parameters(), optimizer_);
  actions_.end(action);
  actions_.end_step(step);

  for (MicrobatchRow& row : microbatch_rows(session_.plan, step, losses_.read(), fed_.end_step()))
    writer_.add(std::move(row));
  recorder_.end_step(step);
  writer_.add(memory_row(meter_, step, activation_peak_));
  gpu_memory_.end_step(step);
  const double seconds = static_cast<double>(monotonic_ns() - begin_ns) * 1e-9;
  writer_.end_step(step_row(session_.plan, step, update, step_loss(losses_.read()), seconds));
}

void ReferenceTrainer::run(bool show_progress) {
  recorder_.parameters(initial_step, 0, slice_.parameters());
  recorder_.end_step(initial_step);
  writer_.flush();
  if (writer_.level() != RecordLevel::none) measure_split_backward();
  std::optional<ProgressLine> line;
  if (show_progress) line.emplace();
  for (std::int64_t index = 0; index < session_.run.train.steps; ++index) {
    step(index);
    const std::int64_t tokens = (index + 1) * session_.plan.step_tokens();
    if (line) line->step(index + 1, session_.run.train.steps, step_loss(losses_.read()), tokens);
  }
  if (line) line->finish();
}

void ReferenceTrainer::finish(const std::string& status, int code) {
  writer_.finish({0, status, code, std::nullopt, actions_.last_action(), fed_.digest()});
}

/// One microbatch at a time is in flight: the longest decides.
MemoryPlan plan_reference_memory(const Session& session) {
  const UnitRange all = all_units(session);
  const at::ScalarType dtype = parse_dtype(session.run.train.dtype);
  MemoryPlan plan = plan_state(session.config, {all}, dtype, session.run.train.optimizer);
  for (std::int64_t microbatch = 0; microbatch < session.plan.microbatches(); ++microbatch) {
    const std::int64_t tokens = session.plan.padded_tokens(microbatch);
    plan.activations = std::max(plan.activations, plan_saved(session.config, all, tokens, dtype));
  }
  return plan;
}

}  // namespace

void train_reference(const ReferenceOptions& options) {
  if (options.device == "cuda") open_gpus();  // before anything asks LibTorch whether there is CUDA
  apply_deterministic_settings();
  install_memory_meter();
  Session session = load_session(options.run_file, options.text);
  session.run.device = options.device;
  Variant variant{options.perturb, std::nullopt};
  if (options.shadow) variant.shadow_of = std::exchange(session.run.train.dtype, "float64");
  const auto units = unit_names(session.config);
  const MemoryPlan need = plan_reference_memory(session);
  const std::string memory_words = "the plan is " + to_text(need);
  if (options.device == "cuda") {
    session.device = at::Device(at::kCUDA, 0);
    with_gpu_memory_words(
        memory_words, [&] { session.gpus = {start_gpu(session.device, parse_dtype(session.run.train.dtype)).name}; });
    const GpuFreeMemory memory = load_gpu_module().free_memory(0);
    check_fits(need, memory.free_bytes, memory.total_bytes, "the reference, GPU 0 (" + session.gpus.front() + ")");
  } else {
    require_memory(need, "the machine");
  }
  ManifestSchedule schedule;
  schedule.name = "sequential";
  schedule.csv = sequential_list(session.plan.microbatches());
  std::optional<ListedAccumulation> listed;
  std::string order;
  if (options.accumulation) {
    order = read_file(*options.accumulation);
    listed.emplace(read_accumulation_order(*options.accumulation, session.config, session.plan.microbatches()));
    schedule.accumulation = "listed";
    schedule.accumulation_digest = hash_hex(order);
  }

  claim_record_folder(options.record);
  Json manifest = make_manifest("reference", options.command, session.run, session.config, session.plan, 1, schedule,
                                {{0, 0, units}}, session.gpus);
  if (variant.perturb) manifest["perturbation"] = *variant.perturb;
  if (variant.shadow_of) manifest["shadow_of"] = *variant.shadow_of;
  write_manifest(options.record, manifest);
  if (session.run.record_level != RecordLevel::none) {
    write_schedule_csv(options.record, schedule.csv);
    if (!order.empty()) write_accumulation_csv(options.record, order);
  }
  std::optional<ReferenceTrainer> trainer;
  try {
    with_gpu_memory_words(memory_words, [&] { trainer.emplace(session, variant, options.record, std::move(listed)); });
  } catch (const std::exception&) {  // weights of another shape, say: nothing was recorded yet
    give_back_record_folder(options.record);
    throw;
  }
  try {
    with_gpu_memory_words(memory_words, [&] { trainer->run(options.progress); });
  } catch (const std::exception&) {
    try {
      trainer->finish("error", static_cast<int>(ExitCode::does_not_hold));
    } catch (const Error&) {  // on a full disk exit.json is lost too; what filled it first is what counts
    }
    throw;
  }
  trainer->finish("ok", 0);
}

}  // namespace plumbline
