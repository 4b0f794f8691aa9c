#include "training/trainer.hpp"

#include <optional>

#include "support/progress_line.hpp"

namespace plumbline {

void Trainer::run(bool show_progress) {
  monitor_.run_began(state());
  std::optional<ProgressLine> line;
  if (show_progress && owns_loss_) line.emplace();
  const std::int64_t steps = session_.run.train.steps;
  for (std::int64_t step = 0; step < steps; ++step) {
    monitor_.step_began(step);
    zero_gradients(state());
    train_step(step);
    monitor_.step_ended(step);
    step_recorded(step);
    if (line) line->step(step + 1, steps, monitor_.loss(), (step + 1) * session_.plan.step_tokens());
  }
  if (line) line->finish();
}

}  // namespace plumbline
