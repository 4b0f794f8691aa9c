// SPDX-License-Identifier: BSD-3-Clause
// Maintains the rank's heartbeat file: its current action, and the rank it waits for.
#pragma once

#include <filesystem>
#include <optional>

#include "record/progress_page.hpp"
#include "training/step_observer.hpp"

namespace plumbline {

class Heartbeat : public StepObserver {
 public:
  /// Creates the file `progress` in the rank's folder; an empty folder: none is kept. Throws SystemError. `first_rank`:
  /// of the observed pipeline in the run, whose ranks the file names.
  explicit Heartbeat(const std::filesystem::path& folder, int first_rank = 0) : first_rank_(first_rank) {
    if (!folder.empty()) page_.emplace(folder / "progress");
  }

  void action_began(const StepAction& action) override { show(action, action, -1); }
  void waiting(const StepAction& action, const StepAction& awaited, int peer) override {
    show(action, awaited, first_rank_ + peer);
  }
  void waited(const StepAction& action, std::int64_t /*nanoseconds*/) override { show(action, action, -1); }

  /// Sets the rank of the run that this one waits for, also between steps and before the first; -1: none.
  void waits_for(int peer) {
    now_.peer = peer;
    if (page_) page_->update(now_);
  }

 private:
  void show(const StepAction& action, const StepAction& shown, int peer) {
    text_ = shown.text;
    now_ = {.step = action.step,
            .action_index = action.index,
            .peer = peer,
            .microbatch = static_cast<std::int32_t>(action.microbatch.value_or(-1)),
            .action = text_};
    if (page_) page_->update(now_);
  }

  std::optional<ProgressPage> page_;
  int first_rank_;
  std::string text_;
  ProgressNow now_;
};

}  // namespace plumbline
