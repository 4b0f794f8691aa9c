// SPDX-License-Identifier: BSD-3-Clause
// All that watches one rank's run, as one observer: the record's tables, the progress page, a profiler's ranges.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "training/action_log.hpp"
#include "training/gpu/gpu_memory_log.hpp"
#include "training/gpu/profiler_ranges.hpp"
#include "training/microbatch.hpp"
#include "training/progress_observer.hpp"
#include "training/recording_clock.hpp"
#include "training/step_recorder.hpp"
#include "training/step_rows.hpp"
#include "training/training_run.hpp"

namespace plumbline {

/// Whose run it is that is watched.
struct WatchedRank {
  std::int64_t rank = 0;
  bool owns_loss = true;
  bool measures_units = false;  ///< its record has saved.csv
  std::int64_t origin_ns = 0;   ///< monotonic time of rank 0's start-up
  GpuProcess process = GpuProcess::one_rank;
};

class RunMonitor : public StepObserver {
 public:
  /// Makes the rank's folder in the record. Throws as RecordWriter does.
  RunMonitor(const TrainingRun& training, const std::filesystem::path& record, const WatchedRank& watched);

  /// `more` is told of everything too, before the rows of the step are written; it outlives the run.
  void add(StepObserver& more) { observers_.insert(observers_.begin(), &more); }

  /// Before the first step.
  void run_began(const TrainState& state);
  /// Writes exit.json.
  void run_ended(const std::string& status, int code, const std::vector<std::int64_t>& waited_for = {});
  /// flight.jsonl: the actions of a step that failed.
  void write_flight() const noexcept { log_.write_flight(writer_.folder() / "flight.jsonl"); }

  void step_began(std::int64_t step) override;
  void action_began(const StepAction& action) override { tell(&StepObserver::action_began, action); }
  void waiting(const StepAction& action, const StepAction& awaited, int peer) override {
    tell(&StepObserver::waiting, action, awaited, peer);
  }
  void waited(const StepAction& action, std::int64_t nanoseconds) override {
    tell(&StepObserver::waited, action, nanoseconds);
  }
  void action_ended(const StepAction& action) override { tell(&StepObserver::action_ended, action); }
  void fed(std::int64_t microbatch, const Microbatch& data) override { tell(&StepObserver::fed, microbatch, data); }
  void crossed(const Crossing& crossing, const at::Tensor& tensor) override {
    tell(&StepObserver::crossed, crossing, tensor);
  }
  void lost(std::int64_t microbatch, const at::Tensor& loss) override { tell(&StepObserver::lost, microbatch, loss); }
  void accumulated(std::int64_t microbatch, const TrainState& state) override {
    tell(&StepObserver::accumulated, microbatch, state);
  }
  void before_tied_sum(const TiedWeight& tied) override { tell(&StepObserver::before_tied_sum, tied); }
  void before_update(std::int64_t step, const TrainState& state) override {
    tell(&StepObserver::before_update, step, state);
  }
  void after_update(std::int64_t step, const TrainState& state, const StepUpdate& update) override {
    tell(&StepObserver::after_update, step, state, update);
  }
  void step_ended(std::int64_t step) override { tell(&StepObserver::step_ended, step); }

  void set_activation_peak(const StepAction& action, std::int64_t bytes);
  RecordWriter& writer() { return writer_; }
  /// The progress page alone, for what is no step.
  ProgressObserver& page() { return page_; }
  /// Of the step that ended last; nothing where another rank owns it.
  std::optional<float> loss() const { return rows_.loss(); }
  const StepUpdate& update() const { return rows_.update(); }
  /// In the step that ended last, for other ranks.
  double waited_seconds() const { return rows_.waited_seconds(); }

 private:
  /// Tells every observer; where there is a record, takes the time of it.
  template <typename... Parameters, typename... Told>
  void tell(void (StepObserver::*event)(Parameters...), const Told&... told) {
    if (timed_) clock_.start();
    for (StepObserver* each : observers_) (each->*event)(told...);
    if (timed_) clock_.stop();
  }

  std::int64_t rank_;
  bool timed_;  ///< a record tells what it cost
  RecordingClock clock_;
  RecordWriter writer_;
  StepRecorder recorder_;
  ActionLog log_;
  ProfilerRanges ranges_;
  GpuMemoryLog gpu_memory_;
  ProgressObserver page_;
  StepRows rows_;
  std::vector<StepObserver*> observers_;
};

}  // namespace plumbline
