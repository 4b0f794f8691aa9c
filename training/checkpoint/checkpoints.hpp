// SPDX-License-Identifier: BSD-3-Clause
// Decides when a run saves: every N steps, at its end, and when it is asked to stop.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "record/record.hpp"
#include "support/folder_lock.hpp"
#include "training/checkpoint/checkpoint_save.hpp"
#include "training/checkpoint/save_signal.hpp"
#include "training/rank_group.hpp"
#include "training/run.hpp"
#include "training/train_state.hpp"

namespace plumbline {

class Checkpoints {
 public:
  /// Collective. Creates and locks the folder of the run file's [checkpoint]. Throws InputError on every rank if
  /// another run saves there, or if a rank does not see what rank 0 wrote.
  Checkpoints(const Run& run, RankGroup& group);

  /// Collective, once the checkpoint to resume from is loaded; null: the run starts at step 0. Throws InputError on
  /// every rank if the folder holds later work, unless --discard-later renames it.
  void start_after(const std::optional<ResumedFrom>& resumed_from);

  /// Writes the step's row of metrics.csv, to the disk if `saved`: a checkpoint of this step follows. `saving_seconds`:
  /// how long the training has waited for the checkpoint until this rank's files are written. In the background
  /// only copying takes time, and waiting for a save that has not ended when the next one is due.
  using RowWriter = std::function<void(double saving_seconds, bool saved)>;

  /// Collective, after each step in which the ranks exchanged control messages. Saves if due; calls `write_row` before
  /// the checkpoint is published. Returns whether training ends here because a signal asked for it and the steps so far
  /// are saved. Save errors are printed on stderr.
  bool step_ended(const TrainState& state, const RowWriter& write_row);
  /// Whether the last step_ended returned true for a signal, not for --stop-after.
  bool stopped_by_signal() const { return stopped_by_signal_; }
  /// Collective, for a run that ends early: waits for the save in progress. Returns the newest complete checkpoint on
  /// every rank; empty if there is none.
  std::string finish();
  /// After the last step, on every rank: throws SystemError if steps since the last checkpoint were not saved.
  void require_saved() const;

 private:
  void warn_of_failure() const;

  const Run& run_;
  RankGroup& group_;
  std::optional<FolderLock> lock_;  ///< rank 0's
  SaveSignal signal_;
  CheckpointSave save_;
  bool stopped_by_signal_ = false;
  std::string save_error_;  ///< why the last save failed
};

}  // namespace plumbline
