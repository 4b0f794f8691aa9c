#include "training/run_monitor.hpp"

#include "training/memory_meter.hpp"
#include "training/microbatch.hpp"

namespace plumbline {

RunMonitor::RunMonitor(const TrainingRun& training, const std::filesystem::path& record, const WatchedRank& watched)
    : rank_(watched.rank),
      timed_(training.recorded()),
      writer_(record, watched.rank, training.run.record_level, watched.measures_units),
      recorder_(writer_),
      log_(writer_, watched.origin_ns, training.record_gpu()),
      ranges_(training.gpu()),
      gpu_memory_(writer_.folder(), training.record_gpu(), training.device.index(), watched.process),
      page_(writer_.folder() / "progress"),
      rows_(writer_, training.plan, this_thread_meter(), clock_, watched.owns_loss),
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

template <typename Told>
void RunMonitor::tell(const Told& told) {
  if (timed_) clock_.start();
  for (StepObserver* each : observers_) told(*each);
  if (timed_) clock_.stop();
}

void RunMonitor::step_began(std::int64_t step) {
  tell([&](StepObserver& each) { each.step_began(step); });
  clock_.restart();  // a step's seconds count from within the call
}
void RunMonitor::action_began(const StepAction& action) {
  tell([&](StepObserver& each) { each.action_began(action); });
}
void RunMonitor::waiting(const StepAction& action, const StepAction& awaited, int peer) {
  tell([&](StepObserver& each) { each.waiting(action, awaited, peer); });
}
void RunMonitor::waited(const StepAction& action, std::int64_t nanoseconds) {
  tell([&](StepObserver& each) { each.waited(action, nanoseconds); });
}
void RunMonitor::action_ended(const StepAction& action) {
  tell([&](StepObserver& each) { each.action_ended(action); });
}
void RunMonitor::fed(std::int64_t microbatch, const Microbatch& data) {
  tell([&](StepObserver& each) { each.fed(microbatch, data); });
}
void RunMonitor::crossed(const Crossing& crossing, const at::Tensor& tensor) {
  tell([&](StepObserver& each) { each.crossed(crossing, tensor); });
}
void RunMonitor::lost(std::int64_t microbatch, const at::Tensor& loss) {
  tell([&](StepObserver& each) { each.lost(microbatch, loss); });
}
void RunMonitor::accumulated(std::int64_t microbatch, const TrainState& state) {
  tell([&](StepObserver& each) { each.accumulated(microbatch, state); });
}
void RunMonitor::before_tied_sum(const TiedWeight& tied) {
  tell([&](StepObserver& each) { each.before_tied_sum(tied); });
}
void RunMonitor::before_update(std::int64_t step, const TrainState& state) {
  tell([&](StepObserver& each) { each.before_update(step, state); });
}
void RunMonitor::after_update(std::int64_t step, const TrainState& state, const StepUpdate& update) {
  tell([&](StepObserver& each) { each.after_update(step, state, update); });
}
void RunMonitor::step_ended(std::int64_t step) {
  tell([&](StepObserver& each) { each.step_ended(step); });
}

}  // namespace plumbline
