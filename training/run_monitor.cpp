// SPDX-License-Identifier: BSD-3-Clause
#include "training/run_monitor.hpp"

#include "record/machine_differences.hpp"
#include "training/environment.hpp"
#include "training/memory_meter.hpp"

namespace plumbline {

RunMonitor::RunMonitor(const TrainingRun& training, const std::filesystem::path& record, const WatchedRank& watched)
    : rank_(watched.rank),
      timed_(training.recorded()),
      measures_passes_(watched.measures_passes && training.recorded()),
      meter_(this_thread_meter()),
      writer_(record, watched.rank, training.run.record_level, watched.measures_units),
      recorder_(writer_),
      log_(writer_, watched.origin_ns, training.record_gpu()),
      ranges_(training.gpu()),
      gpu_memory_(writer_, training.record_gpu(), training.device.index(), watched.process),
      heartbeat_(writer_.folder(), watched.first_rank),
      rows_(writer_, training.plan, meter_, clock_, watched.owns_loss),
      observers_{&log_, &ranges_, &heartbeat_, &recorder_, &gpu_memory_, &rows_} {}

void RunMonitor::run_began(const TrainState& state) {
  if (timed_) {
    Json machine = rank_machine_json();
    if (const std::string gpu = gpu_memory_.uuid(); !gpu.empty()) machine["gpu"] = gpu;
    write_json(writer_.folder() / rank_machine_name, machine);
  }
  recorder_.start(state);
  recorder_.step_ended(initial_step);
  writer_.flush();
}

void RunMonitor::run_ended(const std::string& status, int code, const std::vector<std::int64_t>& waited_for) {
  ExitFile exit{rank_, status, code, std::nullopt, log_.last_action(), writer_.data_digest()};
  exit.waited_for = waited_for;
  writer_.finish(exit);
}

void RunMonitor::action_began(const StepAction& action) {
  if (measures_passes_ && action.computes) meter_.reset_peak(MemoryOwner::activations);
  notify(&StepObserver::action_began, action);
}

// What an earlier step left behind counts too.
void RunMonitor::action_ended(const StepAction& action) {
  if (measures_passes_ && action.computes) set_activation_peak(action, meter_.count(MemoryOwner::activations).peak);
  notify(&StepObserver::action_ended, action);
}

void RunMonitor::set_activation_peak(const StepAction& action, std::int64_t bytes) {
  log_.set_peak(action, bytes);
  rows_.add_activation_peak(bytes);
}

void RunMonitor::step_began(std::int64_t step) {
  notify(&StepObserver::step_began, step);
  clock_.restart();  // a step's time starts within this call
}

}  // namespace plumbline
