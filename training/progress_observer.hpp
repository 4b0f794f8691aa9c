// SPDX-License-Identifier: BSD-3-Clause
// Keeps the rank's progress page: the action it is at, and whom it waits for.
#pragma once

#include <filesystem>

#include "record/progress_page.hpp"
#include "training/step_observer.hpp"

namespace plumbline {

class ProgressObserver : public StepObserver {
 public:
  /// Makes the page. Throws SystemError.
  explicit ProgressObserver(const std::filesystem::path& page) : page_(page) {}

  void action_began(const StepAction& action) override { show(action, action, -1); }
  void waiting(const StepAction& action, const StepAction& awaited, int peer) override { show(action, awaited, peer); }
  void waited(const StepAction& action, std::int64_t /*nanoseconds*/) override { show(action, action, -1); }

  /// Whom it waits for wherever it is now, between steps and before the first too; -1: for none any longer.
  void waits_for(int peer) {
    now_.peer = peer;
    page_.update(now_);
  }

 private:
  void show(const StepAction& action, const StepAction& shown, int peer) {
    text_ = shown.text;
    now_ = {.step = action.step,
            .action_index = action.index,
            .peer = peer,
            .microbatch = static_cast<std::int32_t>(action.microbatch.value_or(-1)),
            .action = text_};
    page_.update(now_);
  }

  ProgressPage page_;
  std::string text_;
  ProgressNow now_;
};

}  // namespace plumbline
