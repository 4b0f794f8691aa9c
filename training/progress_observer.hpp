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

 private:
  void show(const StepAction& action, const StepAction& shown, int peer) {
    page_.update({.step = action.step,
                  .action_index = action.index,
                  .peer = peer,
                  .microbatch = static_cast<std::int32_t>(action.microbatch.value_or(-1)),
                  .action = shown.text});
  }

  ProgressPage page_;
};

}  // namespace plumbline
