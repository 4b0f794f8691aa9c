// SPDX-License-Identifier: BSD-3-Clause
// The training loop of both trainers: begin and end of steps. Each trainer implements forward and backward passes and
// update.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "record/record.hpp"
#include "record/rows.hpp"
#include "support/error.hpp"
#include "support/progress_line.hpp"
#include "training/checkpoint/checkpoints.hpp"
#include "training/checkpoint/metrics_file.hpp"
#include "training/rank_group.hpp"
#include "training/run.hpp"
#include "training/step_recorder.hpp"
#include "training/train_state.hpp"

namespace plumbline {

/// The results of an evaluation by microbatch, on the rank that computes the loss.
struct EvaluationResult {
  std::vector<float> losses;
  std::vector<std::string> data_digests;  ///< of the inputs; empty if nothing is recorded

  /// Their sum from left to right.
  float loss() const;
};

/// Rows of evaluation.csv: one per microbatch and one for the whole evaluation. `plan`: of the validation data.
std::vector<EvaluationRow> evaluation_rows(std::int64_t step, const BatchPlan& plan, const EvaluationResult& result);

class Trainer {
 public:
  /// `batches`: those of the run that this rank's replica trains on. `run` must outlive this object.
  Trainer(const Run& run, const BatchPlan& batches, const std::filesystem::path& record, const RecordedRank& recorded)
      : run_(run), recorder_(run, batches, record, recorded), reports_(recorded.owns_loss && recorded.reports) {}
  virtual ~Trainer() = default;
  Trainer(const Trainer&) = delete;
  Trainer& operator=(const Trainer&) = delete;

  /// Collective: locks the checkpoint folder and loads the checkpoint to resume from. Throws InputError on every rank.
  void begin();
  /// Runs all remaining steps. `show_progress` applies to the rank that computes the loss (of replica 0).
  void run(bool show_progress);
  /// Writes exit.json of a successful run and returns its exit code: `stopped` if a signal ended it.
  ExitCode succeeded();
  /// Writes exit.json of a failed run: `status` is error or timeout. Ignores write errors (a full disk).
  void failed(const std::string& status, const std::vector<std::int64_t>& waited_for = {});
  /// What begin() loaded; null if the run starts at step 0.
  const std::optional<ResumedFrom>& resumed_from() const { return resumed_from_; }

 protected:
  /// Loaded, and the initial values are recorded; called before the first step.
  virtual void ready() {}
  /// From zeroed gradients to updated parameters.
  virtual void train_step(std::int64_t step) = 0;
  /// Collective, between two steps: the losses on the validation data, on the rank that computes them. Requires
  /// validation data.
  virtual std::optional<EvaluationResult> evaluate(std::int64_t step) = 0;
  /// Shows on the line what a hanging step waits for; null: stops showing it.
  virtual void show_waits_on(ProgressLine* /*line*/) {}
  /// The step's record is complete.
  virtual void step_recorded(std::int64_t /*step*/) {}
  /// exit.json is about to be written.
  virtual void ending(bool /*well*/) {}
  virtual TrainState& state() = 0;
  virtual RankGroup& group() = 0;
  std::int64_t first_step() const { return resumed_from_ ? resumed_from_->step : 0; }

  const Run& run_;
  StepRecorder recorder_;

 private:
  /// The recorded loss on the validation data after this step, if due and on the rank that computes it.
  std::optional<float> evaluate_if_due(std::int64_t step);

  /// Collective: finishes the save in progress, and throws RunError with the gradient's name and the checkpoint that
  /// remains.
  [[noreturn]] void end_at(const NotFinite& found);

  /// The number of completed steps at which this run ends, unless a signal ends it.
  std::int64_t last_step() const;

  bool reports_;          ///< this rank shows progress and keeps metrics
  bool stopped_ = false;  ///< on request, before its last step
  std::optional<ResumedFrom> resumed_from_;
  std::optional<Checkpoints> checkpoints_;
  std::optional<MetricsFile> metrics_;  ///< on the rank that reports
};

}  // namespace plumbline
