// SPDX-License-Identifier: BSD-3-Clause
#include "training/step_recorder.hpp"

#include <ATen/Tensor.h>

#include <algorithm>

#include "record/machine_differences.hpp"
#include "record/rank_folder.hpp"
#include "support/files.hpp"
#include "support/machine_memory.hpp"
#include "training/environment.hpp"

namespace plumbline {

class StepRecorder::Timed {
 public:
  explicit Timed(StepRecorder& recorder) : recorder_(recorder) {}
  ~Timed() { recorder_.recording_ns_ += nanoseconds(); }
  Timed(const Timed&) = delete;
  Timed& operator=(const Timed&) = delete;

  std::int64_t nanoseconds() const { return monotonic_ns() - began_ns_; }

 private:
  StepRecorder& recorder_;
  std::int64_t began_ns_ = monotonic_ns();
};

StepRecorder::StepRecorder(const Run& run, const BatchPlan& batches, const std::filesystem::path& record,
                           const RecordedRank& recorded)
    : plan_(batches),
      rank_(recorded),
      meter_(this_thread_meter()),
      writer_(record, recorded.rank, run.record_level, recorded.measures_units),
      actions_(writer_, recorded.origin_ns, run.record_gpu()),
      ranges_(run.gpu()),
      gpu_memory_(writer_, run.record_gpu(), run.device.index(), recorded.process),
      heartbeat_(writer_.folder(), recorded.first_rank),
      inputs_(batches.microbatches()) {}

void StepRecorder::run_began(const TrainState& state) {
  if (has_tables()) {
    Json machine = rank_machine_json();
    if (const std::string gpu = gpu_memory_.uuid(); !gpu.empty()) machine["gpu"] = gpu;
    write_json(writer_.folder() / rank_machine_name, machine);
  }
  add_parameters_and_moments(initial_step, state, /*with_moments=*/state.step > 0);
  write_dump(initial_step);
  writer_.flush();
}

void StepRecorder::run_ended(const std::string& status, int code, const std::vector<std::int64_t>& waited_for) {
  ExitFile exit{rank_.rank, status, code, std::nullopt, actions_.last_action(), writer_.data_digest()};
  exit.waited_for = waited_for;
  writer_.finish(exit);
}

void StepRecorder::write_flight_record() const noexcept {
  if (!writer_.folder().empty()) actions_.write_flight_record(writer_.folder() / "flight.jsonl");
}

void StepRecorder::step_began(std::int64_t /*step*/) {
  began_ns_ = monotonic_ns();
  waited_ns_ = recording_ns_ = activation_peak_ = 0;
  gpu_memory_.step_began();
  if (has_tables()) {
    meter_.reset_total_peak();
    meter_.reset_peak(MemoryOwner::transport);
  }
  if (rank_.owns_loss) losses_.begin(plan_.microbatches());
}

void StepRecorder::action_began(const StepAction& action) {
  const Timed timed(*this);
  if (has_tables() && rank_.measures_passes && action.computes) meter_.reset_peak(MemoryOwner::activations);
  actions_.began(action);
  ranges_.began(action);
  heartbeat_.action_began(action);
}

void StepRecorder::waiting(const StepAction& action, const StepAction& awaited, int peer) {
  const Timed timed(*this);
  heartbeat_.waiting(action, awaited, peer);
}

void StepRecorder::waited(const StepAction& action, std::int64_t nanoseconds) {
  const Timed timed(*this);
  waited_ns_ += nanoseconds;
  actions_.waited(action, nanoseconds);
  heartbeat_.waited(action, nanoseconds);
}

// The peak includes what an earlier step left behind.
void StepRecorder::action_ended(const StepAction& action) {
  const Timed timed(*this);
  if (has_tables() && rank_.measures_passes && action.computes)
    set_activation_peak(action, meter_.count(MemoryOwner::activations).peak);
  actions_.ended(action);
  ranges_.ended(action);
}

void StepRecorder::set_activation_peak(const StepAction& action, std::int64_t bytes) {
  actions_.set_peak(action, bytes);
  activation_peak_ = std::max(activation_peak_, bytes);
}

void StepRecorder::on_input(std::int64_t microbatch, const Microbatch& data) {
  const Timed timed(*this);
  if (has_tables()) inputs_.add(microbatch, data);
}

void StepRecorder::on_boundary(const BoundaryTensor& boundary, const at::Tensor& value) {
  if (!writer_.wants_tensors()) return;
  const Timed timed(*this);
  const MemoryScope scope(MemoryOwner::recorder);
  BoundaryRow row;
  row.step = boundary.step;
  row.microbatch = boundary.microbatch;
  row.direction = boundary.direction;
  row.cut = boundary.boundary;
  row.from_stage = boundary.from_stage;
  row.to_stage = boundary.to_stage;
  row.side = boundary.side;
  row.peer = boundary.peer;
  row.dtype = dtype_name(value.scalar_type());
  row.shape = value.sizes().vec();
  row.digest = digest(value);
  row.bytes = value.numel() * static_cast<std::int64_t>(value.element_size());
  keep("boundary/" + row.direction + "/" + std::to_string(row.microbatch) + "/" + row.cut + "/" + row.side, value);
  writer_.add(std::move(row));
}

void StepRecorder::on_loss(std::int64_t microbatch, const at::Tensor& loss) {
  const Timed timed(*this);
  losses_.set(microbatch, loss);
}

void StepRecorder::before_update(std::int64_t step, const TrainState& state) {
  if (!writer_.wants_tensors()) return;
  const Timed timed(*this);
  for (const TrainedParameter& each : state.parameters)
    add_tensor(step, each.stage, "gradient", each.name, each.gradient());
}

void StepRecorder::after_update(std::int64_t step, const TrainState& state, const StepUpdate& update) {
  const Timed timed(*this);
  update_ = update;
  add_parameters_and_moments(step, state, /*with_moments=*/true);
}

void StepRecorder::step_ended(std::int64_t step) {
  const Timed timed(*this);
  actions_.step_ended();
  write_dump(step);
  gpu_memory_.step_ended(step);
  if (rank_.owns_loss) loss_ = step_loss(losses_of_step_.empty() ? losses_.read() : losses_of_step_);
  if (!has_tables()) return;
  add_microbatches(step);
  add_memory(step);
  StepRow row;
  row.step = step;
  row.loss = loss_;
  row.gradient_norm = update_.gradient_norm;
  row.clip_coefficient = update_.clip_coefficient;
  row.learning_rate = update_.learning_rate;
  row.tokens = plan_.step_tokens();
  row.valid_tokens = plan_.step_valid_tokens(step);
  row.live_tokens = plan_.live_tokens(step);
  row.recording_seconds = static_cast<double>(recording_ns_ + timed.nanoseconds()) * 1e-9;
  row.seconds = static_cast<double>(monotonic_ns() - began_ns_) * 1e-9;
  writer_.end_step(row);
}

void StepRecorder::add_tensor(std::int64_t step, std::int64_t stage, const char* kind, const std::string& name,
                              const at::Tensor& value) {
  const MemoryScope scope(MemoryOwner::recorder);
  TensorRow row = describe(value);
  row.step = step;
  row.kind = kind;
  row.name = name;
  row.stage = stage;
  keep(row.kind + "/" + name, value);
  writer_.add(std::move(row));
}

void StepRecorder::add_parameters_and_moments(std::int64_t step, const TrainState& state, bool with_moments) {
  if (!writer_.wants_tensors()) return;
  const auto& all = state.parameters;
  for (auto first = all.begin(); first != all.end();) {
    const auto end = std::find_if_not(first, all.end(), [&](const auto& each) { return each.stage == first->stage; });
    for (auto each = first; each != end; ++each)
      add_tensor(step, each->stage, "parameter", each->name, each->trained());
    for (auto each = first; each != end; ++each) {
      if (each->master.defined()) add_tensor(step, each->stage, "copy", each->name, each->value);
    }
    for (auto each = first; with_moments && each != end; ++each) {
      // an alias has the moments of the weight that owns its storage, which is the first of the slice
      const TrainedParameter& owner = each->alias ? *first : *each;
      if (owner.moment1.defined()) add_tensor(step, each->stage, "moment1", each->name, owner.moment1);
      if (owner.moment2.defined()) add_tensor(step, each->stage, "moment2", each->name, owner.moment2);
    }
    first = end;
  }
}

void StepRecorder::add_microbatches(std::int64_t step) {
  const std::vector<float>& losses = losses_.read();
  const std::vector<std::string> digests = inputs_.end_step();
  for (std::int64_t microbatch = 0; microbatch < plan_.microbatches(); ++microbatch) {
    MicrobatchRow row;
    row.step = step;
    row.microbatch = microbatch;
    row.sequence_length = plan_.sequence_length(microbatch);
    row.batch = plan_.batch(microbatch);
    row.tokens = plan_.tokens(microbatch);
    row.valid_tokens = plan_.valid_tokens(step, microbatch);
    if (rank_.owns_loss) row.loss = losses.at(static_cast<std::size_t>(microbatch));
    row.data_digest = digests.at(static_cast<std::size_t>(microbatch));
    writer_.add(std::move(row));
  }
}

// After the step's dump has released its tensors.
void StepRecorder::add_memory(std::int64_t step) {
  const std::int64_t copied = meter_.count(MemoryOwner::checkpoint).live;  // constant within a step
  MemoryRow row;
  row.step = step;
  row.peak_bytes = meter_.total().peak - copied;
  row.parameter_bytes = meter_.count(MemoryOwner::parameters).live;
  row.gradient_bytes = meter_.count(MemoryOwner::gradients).live;
  row.optimizer_bytes = meter_.count(MemoryOwner::optimizer).live;
  row.activation_peak_bytes = activation_peak_;
  row.buffer_bytes = meter_.count(MemoryOwner::transport).peak;
  row.live_bytes = meter_.total().live - copied;
  if (const auto kibibytes = number_behind("/proc/self/status", "VmHWM:")) row.process_peak_bytes = *kibibytes * 1024;
  writer_.add(std::move(row));
}

void StepRecorder::keep(std::string key, const at::Tensor& value) {
  if (!writer_.wants_dump()) return;
  // Always a copy, since the tensor itself will change.
  const at::Tensor copy = value.detach().to(at::kCPU, value.scalar_type(), /*non_blocking=*/false, /*copy=*/true);
  kept_.emplace_back(std::move(key), copy.contiguous());
}

void StepRecorder::write_dump(std::int64_t step) {
  if (!writer_.wants_dump()) return;
  const auto folder = writer_.folder() / "dumps";
  make_folder(folder);
  write_tensors(folder / dump_file_name(step), kept_);
  kept_.clear();
}

}  // namespace plumbline
