// SPDX-License-Identifier: BSD-3-Clause
// Saves a checkpoint, at once or in the background; each rank writes its own tensors, as files of a Hugging Face model
// folder (docs/checkpoints.md).
#pragma once

#include <cstdint>
#include <filesystem>
#include <future>
#include <optional>
#include <string>
#include <vector>

#include "support/json.hpp"
#include "training/rank_group.hpp"
#include "training/run.hpp"
#include "training/tensor_record.hpp"
#include "training/train_state.hpp"

namespace plumbline {

/// The save in progress, if any. All ranks make the same calls in the same order. A failed write (a full disk, one
/// beyond checkpoint.timeout_ms) is not an error: training continues, the previous checkpoint remains, and every rank
/// gets the reason. Destroyed during a save, it waits for its own thread and publishes nothing. Replicas of the
/// pipeline share the writing; if their bits differ, every rank throws RunError.
class CheckpointSave {
 public:
  /// `folder` holds the checkpoints and exists.
  CheckpointSave(std::filesystem::path folder, const Run& run, RankGroup& group)
      : folder_(std::move(folder)), run_(run), group_(group) {}

  /// ResumedFrom::changes, which every checkpoint lists.
  void set_changes(Json changes) { changes_ = std::move(changes); }

  /// Begins to save the state after `state.step` steps. In the background, a thread writes a copy of the state, which
  /// stays allocated in host memory; otherwise `write` or `finish` writes, and the state must not change before.
  void start(const TrainState& state, bool in_background);
  /// Waits until this rank's files are written.
  void write() const { own_.wait(); }
  bool pending() const { return own_.valid() || phase_ != Phase::none; }
  /// Advances without waiting for a disk; returns whether the save has ended.
  bool poll() { return advance(false); }
  /// Waits until the save has ended, with a time limit of its own.
  void finish();

  /// Of the save that ended last: the number of steps saved, and the reason if it failed.
  std::int64_t steps() const { return steps_; }
  const std::optional<std::string>& failure() const { return failure_; }

 private:
  enum class Phase : std::uint8_t { none, writing, publishing };

  bool advance(bool wait);
  NamedTensors copied(const NamedTensors& tensors, std::size_t& next);
  std::string publish(const std::vector<std::string>& reports) const;

  std::filesystem::path folder_;
  const Run& run_;
  RankGroup& group_;
  Json changes_ = Json::array();
  std::int64_t steps_ = 0;
  std::optional<std::string> failure_;
  Phase phase_ = Phase::none;
  std::launch policy_ = std::launch::deferred;
  std::vector<at::Tensor> copies_;      ///< on the host, reused by each save in the background
  std::vector<std::string> reports_;    ///< by rank, on rank 0; empty while the rank still writes
  std::future<std::string> own_;        ///< this rank's report
  std::future<std::string> published_;  ///< on rank 0: why the checkpoint could not be published, else empty
};

}  // namespace plumbline
