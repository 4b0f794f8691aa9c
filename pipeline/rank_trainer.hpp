// One rank of the pipeline trainer: walks its action list, step after step, and records what it did.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "pipeline/seams.hpp"
#include "pipeline/stage.hpp"
#include "record/progress_page.hpp"
#include "schedule/schedule.hpp"
#include "training/action_log.hpp"
#include "training/fed_data.hpp"
#include "training/gpu/gpu_memory_log.hpp"
#include "training/session.hpp"
#include "training/step_end.hpp"
#include "training/step_losses.hpp"
#include "training/step_recorder.hpp"

namespace plumbline {

/// What all ranks agree on before the first step.
struct PipelinePlan {
  Schedule schedule;               ///< compute-only
  Schedule lowered;                ///< what ranks execute
  std::string schedule_csv;        ///< for the record
  std::vector<std::string> notes;  ///< on the reading of a schedule file
  std::vector<UnitRange> stages;   ///< units of each stage
  std::int64_t origin_ns = 0;      ///< monotonic time of rank 0's start-up
};

class RankTrainer {
 public:
  RankTrainer(const Session& session, const PipelinePlan& plan, Transport& transport, TrainerSeams& seams,
              const std::filesystem::path& record);

  /// Trains all steps. `show_progress` counts only on the rank that owns the loss.
  void run(bool show_progress);
  /// Writes exit.json; on a failure the actions of the step it happened in too (flight.jsonl).
  void finish(const std::string& status, int code);

 private:
  using Key = std::tuple<std::int64_t, std::int64_t, Direction>;  // stage, microbatch, direction
  struct Posted {
    OperationId id = 0;
    std::size_t log_index = 0;
    int peer = 0;
    Action action;
  };

  void step(std::int64_t step);
  void post(std::int64_t step, const ActionList& batch);
  void forward(std::int64_t step, const Action& action);
  void backward(std::int64_t step, const Action& action);  ///< B and I
  void backward_weight(const Action& action);
  void reduce(std::int64_t step, const Action& action);
  void update(std::int64_t step, const Action& action);

  Operation make_operation(std::int64_t step, const Action& action);
  at::Tensor take_arrival(std::int64_t step, const Action& action, Direction direction, std::size_t log_index);
  void keep_for_sending(const Action& action, Direction direction, at::Tensor tensor);
  void reap_finished_sends();
  void end_action(std::size_t log_index);
  void show(std::int64_t step, std::size_t index, const Action& action, int peer);
  Stage& stage(std::int64_t index);
  const std::string& cut_name(std::int64_t upper_stage) const;
  bool owns_loss() const;

  const Session& session_;
  const PipelinePlan& plan_;
  TrainerSeams& seams_;
  Transport& transport_;
  std::vector<std::string> units_;
  ActionList actions_;  ///< lowered
  MemoryMeter& meter_;
  std::vector<Stage> stages_;
  std::vector<Parameter> parameters_;  ///< of all stages of this rank
  Optimizer optimizer_;
  RecordWriter writer_;
  StepRecorder recorder_;
  ActionLog log_;
  GpuMemoryLog gpu_memory_;
  ProgressPage page_;
  LossFunction loss_;

  std::map<Key, Posted> arriving_;
  std::map<Key, at::Tensor> leaving_;
  std::vector<Posted> sends_;
  StepLosses losses_;
  FedData fed_;
  std::int64_t start_bytes_ = 0;
  std::int64_t activation_peak_ = 0;
  StepUpdate update_;
};

}  // namespace plumbline
