#include "training/run_monitor.hpp"

#include "training/memory_meter.hpp"
#include "training/microbatch.hpp"

namespace plumbline {

RunMonitor::RunMonitor(const TrainingRun& training, const std::filesystem::path& record, const WatchedRank& watched)
    : rank_(watched.rank),
      writer_(record, watched.rank, training.run.record_level, watched.measures_units),
      recorder_(writer_),
      log_(writer_, watched.origin_ns),
      ranges_(training.gpu()),
      gpu_memory_(writer_.folder(), training.record_gpu(), training.device.index(), watched.process),
      page_(writer_.folder() / "progress"),
      rows_(writer_, training.plan, this_thread_meter(), watched.owns_loss),
      observers_{&log_, &ranges_, &page_, &recorder_, &gpu_memory_, &rows_} {}

void RunMonitor::run_began(const TrainState& state) {
  recorder_.start(state);
  recorder_.step_ended(initial_step);
  writer_.flush();
}

void RunMonitor::run_ended(const std::string& status, int code, const std::optional<std::string>& signal) {
  writer_.finish({rank_, status, code, signal, log_.last_action(), rows_.data_digest()});
}

void RunMonitor::set_activation_peak(const StepAction& action, std::int64_t bytes) {
  log_.set_peak(action, bytes);
  rows_.add_activation_peak(bytes);
}

void RunMonitor::step_began(std::int64_t step) {
  for (StepObserver* each : observers_) each->step_began(step);
}
void RunMonitor::action_began(const StepAction& action) {
  for (StepObserver* each : observers_) each->action_began(action);
}
void RunMonitor::waiting(const StepAction& action, const StepAction& awaited, int peer) {
  for (StepObserver* each : observers_) each->waiting(action, awaited, peer);
}
void RunMonitor::waited(const StepAction& action, std::int64_t nanoseconds) {
  for (StepObserver* each : observers_) each->waited(action, nanoseconds);
}
void RunMonitor::action_ended(const StepAction& action) {
  for (StepObserver* each : observers_) each->action_ended(action);
}
void RunMonitor::fed(std::int64_t microbatch, const Microbatch& data) {
  for (StepObserver* each : observers_) each->fed(microbatch, data);
}
void RunMonitor::crossed(const Crossing& crossing, const at::Tensor& tensor) {
  for (StepObserver* each : observers_) each->crossed(crossing, tensor);
}
void RunMonitor::lost(std::int64_t microbatch, const at::Tensor& loss) {
  for (StepObserver* each : observers_) each->lost(microbatch, loss);
}
void RunMonitor::before_tied_sum(const TiedWeight& tied) {
  for (StepObserver* each : observers_) each->before_tied_sum(tied);
}
void RunMonitor::before_update(std::int64_t step, const TrainState& state) {
  for (StepObserver* each : observers_) each->before_update(step, state);
}
void RunMonitor::after_update(std::int64_t step, const TrainState& state, const StepUpdate& update) {
  for (StepObserver* each : observers_) each->after_update(step, state, update);
}
void RunMonitor::step_ended(std::int64_t step) {
  for (StepObserver* each : observers_) each->step_ended(step);
}

}  // namespace plumbline
