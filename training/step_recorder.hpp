// SPDX-License-Identifier: BSD-3-Clause
// Records one rank's run: the tables of each step, its heartbeat, and a profiler's ranges.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "record/writer.hpp"
#include "training/action_log.hpp"
#include "training/gpu/gpu_log.hpp"
#include "training/heartbeat.hpp"
#include "training/loss.hpp"
#include "training/memory_meter.hpp"
#include "training/microbatch.hpp"
#include "training/run.hpp"
#include "training/step_observer.hpp"
#include "training/tensor_record.hpp"

namespace plumbline {

inline constexpr std::int64_t initial_step = -1;

/// The rank whose run is recorded.
struct RecordedRank {
  std::int64_t rank = 0;
  bool owns_loss = true;
  bool reports = true;           ///< of the ranks that own losses, the one that shows progress and keeps metrics
  int first_rank = 0;            ///< of its pipeline in the run, where there are several
  bool measures_units = false;   ///< its record has saved.csv
  bool measures_passes = false;  ///< activation peaks are those of each pass; else the caller sets them
  std::int64_t origin_ns = 0;    ///< monotonic time of rank 0's start
  GpuProcess process = GpuProcess::one_rank;
};

class StepRecorder : public StepObserver {
 public:
  /// Creates the rank's folder in the record. Throws as RecordWriter does.
  /// `batches`: those of the run that the rank's replica trains on.
  StepRecorder(const Run& run, const BatchPlan& batches, const std::filesystem::path& record,
               const RecordedRank& recorded);

  /// Before the first step: the machine, and the initial state as step -1: parameters, and moments if the run was
  /// resumed.
  void run_began(const TrainState& state);
  /// Writes exit.json.
  void run_ended(const std::string& status, int code, const std::vector<std::int64_t>& waited_for = {});
  /// flight.jsonl: the unfinished actions of a failed step.
  void write_flight_record() const noexcept;

  void step_began(std::int64_t step) override;
  void action_began(const StepAction& action) override;
  void waiting(const StepAction& action, const StepAction& awaited, int peer) override;
  void waited(const StepAction& action, std::int64_t nanoseconds) override;
  void action_ended(const StepAction& action) override;
  void on_input(std::int64_t microbatch, const Microbatch& data) override;
  void on_boundary(const BoundaryTensor& boundary, const at::Tensor& tensor) override;
  void on_loss(std::int64_t microbatch, const at::Tensor& loss) override;
  void before_update(std::int64_t step, const TrainState& state) override;
  void after_update(std::int64_t step, const TrainState& state, const StepUpdate& update) override;
  /// Ends the step in the record; at level dump, also writes dumps/step-<k>.safetensors.
  void step_ended(std::int64_t step) override;

  /// Of one action; memory.csv has the largest of a step.
  void set_activation_peak(const StepAction& action, std::int64_t bytes);
  /// Of several replicas: the losses of all microbatches of the step, of which the step's loss is the sum.
  void set_losses_of_step(std::vector<float> losses) { losses_of_step_ = std::move(losses); }

  RecordWriter& writer() { return writer_; }
  /// For work outside a step.
  Heartbeat& heartbeat() { return heartbeat_; }
  /// By microbatch, of the step that ends, on the rank that computes them.
  const std::vector<float>& losses() { return losses_.read(); }
  /// Of the last completed step; null if another rank computes it.
  std::optional<float> loss() const { return loss_; }
  const StepUpdate& update() const { return update_; }
  /// Time spent waiting for other ranks in the last completed step.
  double waited_seconds() const { return static_cast<double>(waited_ns_) * 1e-9; }

 private:
  class Timed;  ///< adds its lifetime to the time that recording takes

  bool has_tables() const { return writer_.level() != RecordLevel::none; }
  void add_tensor(std::int64_t step, std::int64_t stage, const char* kind, const std::string& name,
                  const at::Tensor& value);
  void add_parameters_and_moments(std::int64_t step, const TrainState& state, bool with_moments);
  void add_microbatches(std::int64_t step);
  void add_memory(std::int64_t step);
  void keep(std::string key, const at::Tensor& value);
  void write_dump(std::int64_t step);

  BatchPlan plan_;
  RecordedRank rank_;
  MemoryMeter& meter_;
  RecordWriter writer_;
  ActionLog actions_;
  ProfilerRanges ranges_;
  GpuMemoryLog gpu_memory_;
  Heartbeat heartbeat_;

  // of the current step
  std::int64_t began_ns_ = 0;
  std::int64_t recording_ns_ = 0;
  std::int64_t waited_ns_ = 0;
  std::int64_t activation_peak_ = 0;
  DataDigests inputs_;
  StepLosses losses_;
  std::vector<float> losses_of_step_;
  std::optional<float> loss_;
  StepUpdate update_;
  NamedTensors kept_;  ///< for the dump
};

}  // namespace plumbline
