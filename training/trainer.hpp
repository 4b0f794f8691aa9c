// SPDX-License-Identifier: BSD-3-Clause
// The loop over steps, alike in both trainers: how a step begins and ends. What happens between, forward and backward
// passes up to the update, is each trainer's own.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "record/record.hpp"
#include "support/progress_line.hpp"
#include "training/checkpoint/checkpoints.hpp"
#include "training/checkpoint/metrics_file.hpp"
#include "training/evaluation.hpp"
#include "training/rank_group.hpp"
#include "training/run_monitor.hpp"
#include "training/train_state.hpp"
#include "training/training_run.hpp"

namespace plumbline {

class Trainer {
 public:
  Trainer(const TrainingRun& training, const std::filesystem::path& record, const WatchedRank& watched)
      : training_(training), monitor_(training, record, watched), owns_loss_(watched.owns_loss) {}
  virtual ~Trainer() = default;
  Trainer(const Trainer&) = delete;
  Trainer& operator=(const Trainer&) = delete;

  /// Collective: takes the folder for checkpoints, and loads the one that the run goes on from. Throws InputError on
  /// every rank.
  void begin();
  /// Trains all steps that are left. `show_progress` counts only on the rank that owns the loss.
  void run(bool show_progress);
  /// Writes exit.json, of a run that has ended well.
  void succeeded();
  /// Writes exit.json, of a run that has not: `status` is error or timeout. What a full disk does not take is lost.
  void failed(const std::string& status, const std::vector<std::int64_t>& waited_for = {});
  /// What begin() loaded; nothing of a run that starts with step 0.
  const std::optional<ResumedFrom>& resumed_from() const { return resumed_from_; }

 protected:
  /// Loaded, and the record of the initial values written: the next is the first step.
  virtual void ready() {}
  /// From zeroed gradients to updated parameters.
  virtual void train_step(std::int64_t step) = 0;
  /// Between two steps, collective: the losses on the validation data, on the rank that owns them. There is such data.
  virtual std::optional<EvaluationResult> evaluate(std::int64_t step) = 0;
  /// Shows on the line what goes on while a step hangs, as long as what is returned lives.
  virtual std::shared_ptr<void> watch_waits(ProgressLine& /*line*/) { return nullptr; }
  /// The step's record is complete.
  virtual void step_recorded(std::int64_t /*step*/) {}
  /// exit.json is about to be written.
  virtual void ending(bool /*well*/) {}
  virtual TrainState& state() = 0;
  virtual RankGroup& group() = 0;
  std::int64_t first_step() const { return resumed_from_ ? resumed_from_->step : 0; }

  const TrainingRun& training_;
  RunMonitor monitor_;

 private:
  /// The loss on the validation data after this step, where it is due and on the rank that owns it; recorded.
  std::optional<float> evaluate_if_due(std::int64_t step);

  /// How many steps are made when this run ends, unless a signal ends it.
  std::int64_t last_step() const;

  bool owns_loss_;
  bool stopped_ = false;  ///< as it was asked to, before its last step
  std::optional<ResumedFrom> resumed_from_;
  std::optional<Checkpoints> checkpoints_;
  std::optional<MetricsFile> metrics_;  ///< of the rank that owns the loss
};

}  // namespace plumbline
