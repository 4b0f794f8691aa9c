// SPDX-License-Identifier: BSD-3-Clause
// All observers of one rank's run as one: the record's tables, the heartbeat, a profiler's ranges.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "training/action_log.hpp"
#include "training/gpu/gpu_memory_log.hpp"
#include "training/gpu/profiler_ranges.hpp"
#include "training/memory_meter.hpp"
#include "training/microbatch.hpp"
#include "training/progress_observer.hpp"
#include "training/recording_clock.hpp"
#include "training/step_recorder.hpp"
#include "training/step_rows.hpp"
#include "training/training_run.hpp"

namespace plumbline {

/// The rank whose run is observed.
struct WatchedRank {
  std::int64_t rank = 0;
  bool owns_loss = true;
  bool tells = true;             ///< of the ranks that own losses, the one that shows progress and keeps metrics
  int first_rank = 0;            ///< of its pipeline in the run, where there are several
  bool measures_units = false;   ///< its record has saved.csv
  bool measures_passes = false;  ///< activation peaks are those of each pass; else the caller sets them
  std::int64_t origin_ns = 0;    ///< monotonic time of rank 0's start
  GpuProcess process = GpuProcess::one_rank;
};

class RunMonitor : public StepObserver {
 public:
  /// Creates the rank's folder in the record. Throws as RecordWriter does.
  RunMonitor(const TrainingRun& training, const std::filesystem::path& record, const WatchedRank& watched);

  /// Before the first step.
  void run_began(const TrainState& state);
  /// Writes exit.json.
  void run_ended(const std::string& status, int code, const std::vector<std::int64_t>& waited_for = {});
  /// flight.jsonl: the unfinished actions of a failed step.
  void write_flight_record() const noexcept {
    if (!writer_.folder().empty()) log_.write_flight_record(writer_.folder() / "flight.jsonl");
  }

  void step_began(std::int64_t step) override;
  void action_began(const StepAction& action) override;
  void waiting(const StepAction& action, const StepAction& awaited, int peer) override {
    notify(&StepObserver::waiting, action, awaited, peer);
  }
  void waited(const StepAction& action, std::int64_t nanoseconds) override {
    notify(&StepObserver::waited, action, nanoseconds);
  }
  void action_ended(const StepAction& action) override;
  void on_input(std::int64_t microbatch, const Microbatch& data) override {
    notify(&StepObserver::on_input, microbatch, data);
  }
  void on_boundary(const BoundaryTensor& boundary, const at::Tensor& tensor) override {
    notify(&StepObserver::on_boundary, boundary, tensor);
  }
  void on_loss(std::int64_t microbatch, const at::Tensor& loss) override {
    notify(&StepObserver::on_loss, microbatch, loss);
  }
  void before_update(std::int64_t step, const TrainState& state) override {
    notify(&StepObserver::before_update, step, state);
  }
  void after_update(std::int64_t step, const TrainState& state, const StepUpdate& update) override {
    notify(&StepObserver::after_update, step, state, update);
  }
  void step_ended(std::int64_t step) override { notify(&StepObserver::step_ended, step); }

  void set_activation_peak(const StepAction& action, std::int64_t bytes);
  RecordWriter& writer() { return writer_; }
  /// The heartbeat, for work outside a step.
  ProgressObserver& heartbeat() { return heartbeat_; }
  /// See StepRows.
  const std::vector<float>& losses() { return rows_.losses(); }
  void set_losses_of_step(std::vector<float> losses) { rows_.set_losses_of_step(std::move(losses)); }
  /// Of the last completed step; null if another rank computes it.
  std::optional<float> loss() const { return rows_.loss(); }
  const StepUpdate& update() const { return rows_.update(); }
  /// Time spent waiting for other ranks in the last completed step.
  double waited_seconds() const { return rows_.waited_seconds(); }

 private:
  /// Calls every observer; if there is a record, measures the time.
  template <typename... Parameters, typename... Arguments>
  void notify(void (StepObserver::*event)(Parameters...), const Arguments&... arguments) {
    if (timed_) clock_.start();
    for (StepObserver* each : observers_) (each->*event)(arguments...);
    if (timed_) clock_.stop();
  }

  std::int64_t rank_;
  bool timed_;            ///< the record has the time of recording
  bool measures_passes_;  ///< and there is a record
  MemoryMeter& meter_;
  RecordingClock clock_;
  RecordWriter writer_;
  StepRecorder recorder_;
  ActionLog log_;
  ProfilerRanges ranges_;
  GpuMemoryLog gpu_memory_;
  ProgressObserver heartbeat_;
  StepRows rows_;
  std::vector<StepObserver*> observers_;
};

}  // namespace plumbline
