// One rank's part in an evaluation: forward passes over the validation data, by a list of its own.
#pragma once

#include <cstdint>
#include <optional>

#include "pipeline/pipeline_plan.hpp"
#include "pipeline/rank_parts.hpp"
#include "pipeline/walk.hpp"
#include "training/step_losses.hpp"
#include "training/step_observer.hpp"
#include "training/training_run.hpp"

namespace plumbline {

class Evaluation {
 public:
  /// With the parameters of the rank's stages, and its transport. `page`: shown what the rank does and whom it waits
  /// for. All outlive it. There is validation data.
  Evaluation(const TrainingRun& training, const PipelinePlan& plan, const RankParts& parts, StepObserver& page);
  Evaluation(const Evaluation&) = delete;
  Evaluation& operator=(const Evaluation&) = delete;

  /// Collective, between two steps. The loss, on the rank that has the last stage. No parameter and no gradient
  /// changes.
  std::optional<float> after(std::int64_t step);

 private:
  /// What the record sees nothing of: losses are kept here.
  class Observer : public StepObserver {
   public:
    explicit Observer(StepObserver& page) : page_(page) {}
    void action_began(const StepAction& action) override { page_.action_began(action); }
    void waiting(const StepAction& action, const StepAction& awaited, int peer) override {
      page_.waiting(action, awaited, peer);
    }
    void waited(const StepAction& action, std::int64_t nanoseconds) override { page_.waited(action, nanoseconds); }
    void lost(std::int64_t microbatch, const at::Tensor& loss) override { losses.set(microbatch, loss); }

    StepLosses losses;

   private:
    StepObserver& page_;
  };

  TrainingRun run_;
  PipelinePlan plan_;
  Observer observer_;
  bool owns_loss_;
  RankParts parts_;
  Walk walk_;
};

}  // namespace plumbline
