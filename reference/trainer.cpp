// SPDX-License-Identifier: BSD-3-Clause
#include "reference/trainer.hpp"

#include <ATen/Parallel.h>
#include <ATen/Tensor.h>
#include <ATen/core/grad_mode.h>

#include <cstdio>
#include <functional>
#include <utility>

#include "model/copy_values.hpp"
#include "model/perturb.hpp"
#include "model/unit.hpp"
#include "reference/accumulation.hpp"
#include "reference/unit_meter.hpp"
#include "support/error.hpp"
#include "support/files.hpp"
#include "support/machine_memory.hpp"
#include "training/environment.hpp"
#include "training/gpu/gpu_check.hpp"
#include "training/gpu/prepare_device.hpp"
#include "training/gradient_norm.hpp"
#include "training/graph_edges.hpp"
#include "training/loss.hpp"
#include "training/manifest.hpp"
#include "training/memory_plan.hpp"
#include "training/microbatch.hpp"
#include "training/model_slice.hpp"
#include "training/run.hpp"
#include "training/run_description.hpp"
#include "training/tensor_record.hpp"
#include "training/trainer.hpp"

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

/// Settings of a run that measures rounding instead of being compared in bits.
struct Variant {
  std::optional<std::uint64_t> perturb;
  std::optional<std::string> shadow_of;  ///< dtype of the run for which this one is the float64 reference
};

LlamaSlice make_model(const Run& run, const Variant& variant) {
  // A float64 reference uses the constants of the original model's dtype: they are not an arithmetic error.
  std::optional<at::ScalarType> tables_in;
  if (variant.shadow_of) tables_in = parse_dtype(*variant.shadow_of);
  LlamaSlice slice = make_slice(run, all_units(run.config), tables_in);
  const MemoryScope scope(MemoryOwner::other);
  if (variant.shadow_of) {
    LlamaSlice own(run.config, all_units(run.config), *tables_in, run.device);
    set_initial_values(own, run.file);
    copy_values(slice, own);
  } else {
    set_initial_values(slice, run.file);
  }
  if (variant.perturb) perturb(slice, *variant.perturb);
  return slice;
}

class ReferenceTrainer : public Trainer {
 public:
  ReferenceTrainer(const Run& run, const Variant& variant, const std::filesystem::path& record,
                   std::optional<ListedAccumulation> listed)
      : Trainer(run, run.batches, record, {.measures_units = true, .origin_ns = monotonic_ns()}),
        units_(unit_names(run.config)),
        meter_(this_thread_meter()),
        model_(make_model(run, variant)),
        state_(run.train.optimizer, model_.parameters()),
        listed_(std::move(listed)) {}

  /// An additional pass over the first step's microbatches, whose gradients are discarded, to measure the bytes of
  /// split backward passes.
  void measure_split_backward();

 private:
  void train_step(std::int64_t step) override;
  std::optional<EvaluationResult> evaluate(std::int64_t step) override;
  TrainState& state() override { return state_; }
  RankGroup& group() override { return alone_; }
  void microbatch(std::int64_t step, std::int64_t microbatch);
  /// `meter`: null if nothing is measured.
  GraphEnd forward(Microbatch& data, UnitMeter* meter, const std::function<void(const at::Tensor&)>& scored);
  void backward(GraphEnd graph, UnitMeter* meter);
  void add_saved_rows(const std::vector<SavedRow>& rows, std::int64_t microbatch);

  std::vector<std::string> units_;
  MemoryMeter& meter_;
  LlamaSlice model_;
  TrainState state_;
  std::optional<ListedAccumulation> listed_;
  RankGroup alone_;
  std::int64_t valid_tokens_ = 0;                  ///< of the current step
  std::vector<std::vector<SavedRow>> split_rows_;  ///< by microbatch: bytes of a split backward pass
};

GraphEnd ReferenceTrainer::forward(Microbatch& data, UnitMeter* meter,
                                   const std::function<void(const at::Tensor&)>& scored) {
  const LossTarget target{data.labels, valid_tokens_};
  at::Tensor x = std::move(data.ids);
  for (std::int64_t unit = 0; unit < model_.units().end; ++unit) {
    if (meter != nullptr) meter->before_unit(unit, x);
    x = forward_unit(model_, unit, x, target, run_.train.recompute);
    if (meter != nullptr) meter->after_unit(unit, x);
  }
  if (scored) scored(x);
  return GraphEnd(x);  // keeps only the graph's edge: the scalar's storage is not an activation
}

void ReferenceTrainer::backward(GraphEnd graph, UnitMeter* meter) {
  if (meter != nullptr) meter->begin_backward();
  graph.backward();
  if (meter != nullptr) meter->end_backward();
}

void ReferenceTrainer::microbatch(std::int64_t step, std::int64_t microbatch) {
  Microbatch made = run_.batches.make(step, microbatch);
  recorder_.on_input(microbatch, made);
  Microbatch data = to_device(std::move(made), run_.device);
  std::optional<UnitMeter> unit_meter;
  if (run_.recorded()) unit_meter.emplace(meter_, recorder_, units_, step, microbatch);
  UnitMeter* meter = unit_meter ? &*unit_meter : nullptr;
  const MemoryScope scope(MemoryOwner::activations);

  const auto seen = [&](std::int64_t index, const char* letter) {
    return StepAction{step, index,      std::string("0").append(letter).append(std::to_string(microbatch)),
                      0,    microbatch, true};
  };
  const auto ended = [&](const StepAction& action) {
    recorder_.action_ended(action);
    if (meter != nullptr) recorder_.set_activation_peak(action, meter->collect_peak());
  };
  const StepAction forward_action = seen(2 * microbatch, "F");
  recorder_.action_began(forward_action);
  GraphEnd graph = forward(data, meter, [&](const at::Tensor& loss) { recorder_.on_loss(microbatch, loss); });
  ended(forward_action);

  const StepAction backward_action = seen(2 * microbatch + 1, "B");
  recorder_.action_began(backward_action);
  backward(std::move(graph), meter);
  ended(backward_action);

  if (listed_) listed_->take(microbatch, state_);
  if (step == first_step() && meter != nullptr) add_saved_rows(meter->rows(), microbatch);
}

void ReferenceTrainer::add_saved_rows(const std::vector<SavedRow>& rows, std::int64_t microbatch) {
  for (std::size_t unit = 0; unit < rows.size(); ++unit) {
    SavedRow row = rows[unit];
    if (!split_rows_.empty()) {
      const SavedRow& split = split_rows_[static_cast<std::size_t>(microbatch)][unit];
      row.input_bytes = split.input_bytes;
      row.retained_bytes = split.retained_bytes;
      row.weight_bytes = split.weight_bytes;
    }
    recorder_.writer().add(std::move(row));
  }
}

void ReferenceTrainer::measure_split_backward() {
  valid_tokens_ = run_.batches.step_valid_tokens(0);
  for (std::int64_t index = 0; index < run_.batches.microbatches(); ++index) {
    Microbatch data = to_device(run_.batches.make(0, index), run_.device);
    DeferredWeights deferred;
    UnitMeter unit_meter(meter_, deferred, units_, index);
    const MemoryScope scope(MemoryOwner::activations);
    GraphEnd graph = forward(data, &unit_meter, nullptr);
    {
      const DeferWeightsScope defer(deferred);
      backward(std::move(graph), &unit_meter);
    }
    unit_meter.run_deferred();
    split_rows_.push_back(unit_meter.rows());
  }
}

void ReferenceTrainer::train_step(std::int64_t step) {
  const std::int64_t microbatches = run_.batches.microbatches();
  valid_tokens_ = run_.batches.step_valid_tokens(step);
  for (std::int64_t index = 0; index < microbatches; ++index) microbatch(step, index);

  const StepAction action{step, 2 * microbatches, "0STEP", 0, std::nullopt, false};
  recorder_.action_began(action);
  if (listed_) listed_->add_all(state_);
  end_gradients(run_, step, state_, recorder_,
                [&] { return total_norm(run_.config, gradient_norms(run_.config, state_)); });
  recorder_.action_ended(action);
}

std::optional<EvaluationResult> ReferenceTrainer::evaluate(std::int64_t /*step*/) {
  const at::NoGradGuard no_grad;
  const BatchPlan& plan = evaluation_data(run_);
  const std::int64_t valid_tokens = plan.step_valid_tokens(0);
  StepLosses losses;
  DataDigests digests(plan.microbatches());
  losses.begin(plan.microbatches());
  for (std::int64_t index = 0; index < plan.microbatches(); ++index) {
    Microbatch made = plan.make(0, index);
    if (run_.recorded()) digests.add(index, made);
    Microbatch data = to_device(std::move(made), run_.device);
    const MemoryScope scope(MemoryOwner::activations);
    losses.set(index, forward_units(model_, std::move(data.ids), {data.labels, valid_tokens}, Recompute::none));
  }
  return EvaluationResult{losses.read(), digests.end_step()};
}

void warn_of_equal_microbatches(const BatchPlan& plan) {
  for (const auto& [a, b] : plan.equal_microbatches(0)) {
    std::fprintf(
        stderr, "warning: microbatches %lld and %lld of step 0 hold the same tokens; no check could distinguish them\n",
        static_cast<long long>(a), static_cast<long long>(b));
  }
}

}  // namespace

ExitCode train_reference(const ReferenceOptions& options) {
  if (options.device == "cuda") open_gpus();  // must precede any call that makes LibTorch look for CUDA
  apply_deterministic_settings();
  keep_freed_memory();
  Run run = load_run(options, !options.record.empty());
  at::set_num_threads(static_cast<int>(run.train.threads));
  if (run.recorded()) {
    warn_of_equal_microbatches(run.batches);
    install_memory_meter();
  }
  Variant variant{options.perturb, std::nullopt};
  if (options.shadow && is_mixed(run.train)) {
    throw InputError(
        options.run_file.string() +
        ", key train.precision: mixed has no float64 reference; its limits cannot be measured, so compare it in bits");
  }
  if (options.shadow) variant.shadow_of = std::exchange(run.train.dtype, "float64");
  const auto units = unit_names(run.config);
  const MemoryPlan need = plan_one_device(run);
  const std::string memory_plan_text = "the plan is " + to_text(need);
  use_first_gpu(run);
  prepare_device(run, need, "the run");
  if (run.device.is_cpu()) require_free(need, free_memory(), "the machine");
  const std::int64_t microbatches = run.batches.microbatches();
  ManifestSchedule schedule{
      .name = "sequential", .microbatches = microbatches, .csv = sequential_list(microbatches), .accumulation = ""};
  std::optional<ListedAccumulation> listed;
  if (options.accumulation) {
    schedule.accumulation = read_file(*options.accumulation, most_by_program);
    listed.emplace(read_accumulation_order(*options.accumulation, run.config, microbatches));
  }

  const std::filesystem::path& record = options.record;
  if (!record.empty()) claim_record_folder(record);
  std::optional<ReferenceTrainer> trainer;
  try {
    explain_out_of_memory(memory_plan_text, [&] { trainer.emplace(run, variant, record, std::move(listed)); });
    trainer->begin();
    Json manifest =
        make_manifest("reference", options.command, run, 1, schedule, {{0, 0, units}}, trainer->resumed_from());
    if (variant.perturb) manifest["perturbation"] = *variant.perturb;
    if (variant.shadow_of) manifest["shadow_of"] = *variant.shadow_of;
    if (!record.empty()) write_record_start(record, run, manifest, schedule);
    if (options.progress) tell_start(describe_run(run), run, record, trainer->resumed_from());
  } catch (const std::exception&) {  // for example weights of another shape: nothing was recorded yet
    if (!record.empty()) give_back_record_folder(record);
    throw;
  }
  try {
    explain_out_of_memory(memory_plan_text, [&] {
      if (run.recorded() && options.measure_split_backward) trainer->measure_split_backward();
      trainer->run(options.progress);
    });
  } catch (const std::exception&) {
    trainer->failed("error");
    throw;
  }
  const ExitCode code = trainer->succeeded();
  if (options.progress && code == ExitCode::holds) tell_end(run, record);
  return code;
}

}  // namespace plumbline
