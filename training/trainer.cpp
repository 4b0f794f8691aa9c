#include "training/trainer.hpp"

#include <optional>

#include "support/progress_line.hpp"
#include "training/checkpoint/load_checkpoint.hpp"

namespace plumbline {

void Trainer::begin() {
  if (training_.run.checkpoint.folder) checkpoints_.emplace(training_, group());
  if (training_.resume) resume_training(*training_.resume, training_, state(), group());
}

void Trainer::finish(const std::string& status, int code) {
  // Saved and ended as it was asked to: its record has not all steps.
  if (status == "ok" && stopped_) return monitor_.run_ended("signal", code, "SIGUSR1");
  monitor_.run_ended(status, code);
}

void Trainer::run(bool show_progress) {
  monitor_.run_began(state());
  ready();
  std::optional<ProgressLine> line;
  if (show_progress && owns_loss_) line.emplace(stderr, state().step);
  const std::int64_t steps = training_.run.train.steps;
  const std::int64_t first = state().step;
  for (std::int64_t step = first; step < steps; ++step) {
    monitor_.step_began(step);
    zero_gradients(state());
    train_step(step);
    monitor_.step_ended(step);
    step_recorded(step);
    if (line) line->step(step + 1, steps, monitor_.loss(), (step + 1 - first) * training_.plan.step_tokens());
    stopped_ = checkpoints_ && checkpoints_->step_ended(state());
    if (stopped_) break;
  }
  if (line) line->finish();
}

}  // namespace plumbline
