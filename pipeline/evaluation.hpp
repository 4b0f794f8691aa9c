// SPDX-License-Identifier: BSD-3-Clause
// One rank's part in an evaluation: forward passes over the validation data, by a list of its own.
#pragma once

#include <cstdint>
#include <optional>

#include "pipeline/pipeline_plan.hpp"
#include "pipeline/rank_parts.hpp"
#include "pipeline/walk.hpp"
#include "training/evaluation.hpp"
#include "training/fed_data.hpp"
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

  /// Collective, between two steps. The losses, on the rank that has the last stage. No parameter and no gradient
  /// changes.
  std::optional<EvaluationResult> after(std::int64_t step);

 private:
  /// Of what the record of the steps sees nothing: what was fed and lost is kept here.
  class Observer : public StepObserver {
   public:
    Observer(StepObserver& page, std::int64_t microbatches, bool digests)
        : fed_data(microbatches), page_(page), digests_(digests) {}
    void fed(std::int64_t microbatch, const Microbatch& data) override {
      if (digests_) fed_data.take(microbatch, data);
    }
    void action_began(const StepAction& action) override { page_.action_began(action); }
    void waiting(const StepAction& action, const StepAction& awaited, int peer) override {
      page_.waiting(action, awaited, peer);
    }
    void waited(const StepAction& action, std::int64_t nanoseconds) override { page_.waited(action, nanoseconds); }
    void lost(std::int64_t microbatch, const at::Tensor& loss) override { losses.set(microbatch, loss); }

    StepLosses losses;
    FedData fed_data;

   private:
    StepObserver& page_;
    bool digests_;
  };

  TrainingRun run_;
  PipelinePlan plan_;
  bool owns_loss_;
  Observer observer_;
  RankParts parts_;
  Walk walk_;
};

}  // namespace plumbline
