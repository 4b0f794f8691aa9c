// SPDX-License-Identifier: BSD-3-Clause
// When a run saves: every so many steps, at its end, and when it is asked to stop.
#pragma once

#include <optional>
#include <string>

#include "support/folder_lock.hpp"
#include "training/checkpoint/save_signal.hpp"
#include "training/rank_group.hpp"
#include "training/train_state.hpp"
#include "training/training_run.hpp"

namespace plumbline {

class Checkpoints {
 public:
  /// Collective. Makes the run file's [checkpoint] folder and takes it for this run alone. Throws InputError, on every
  /// rank, where another run saves there, or where a rank does not see what rank 0 wrote.
  Checkpoints(const TrainingRun& training, RankGroup& group);

  /// Collective, after each step, in which the ranks have agreed on something. Saves where it is due. Whether training
  /// is to end here: a signal asked for it, and what was made is saved. What cannot be saved is said on stderr.
  bool step_ended(const TrainState& state);
  /// Of the checkpoint after the last step; 0 where there was none.
  double saving_seconds() const { return saving_seconds_; }
  /// After the last step, on every rank: throws SystemError where what was trained since the checkpoint before is kept
  /// nowhere.
  void require_saved() const;

 private:
  const TrainingRun& training_;
  RankGroup& group_;
  std::optional<FolderLock> lock_;  ///< of rank 0
  SaveSignal signal_;
  double saving_seconds_ = 0;
  std::string lost_;  ///< why the last one could not be saved
};

}  // namespace plumbline
