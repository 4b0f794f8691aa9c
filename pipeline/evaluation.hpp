// SPDX-License-Identifier: BSD-3-Clause
// One rank's part in an evaluation: the trainer's stages and executor with forward passes alone, over the validation
// data.
#pragma once

#include <cstdint>
#include <optional>

#include "pipeline/pipeline_plan.hpp"
#include "pipeline/schedule_executor.hpp"
#include "pipeline/stage.hpp"
#include "training/loss.hpp"
#include "training/microbatch.hpp"
#include "training/run.hpp"
#include "training/step_observer.hpp"
#include "training/trainer.hpp"

namespace plumbline {

class Evaluation {
 public:
  /// `heartbeat` shows the rank's action and the rank it waits for. All arguments must outlive this object. Requires
  /// validation data.
  Evaluation(const Run& run, const PipelinePlan& plan, RankParts& parts, StepObserver& heartbeat);
  Evaluation(const Evaluation&) = delete;
  Evaluation& operator=(const Evaluation&) = delete;

  /// Collective, between two steps. Each replica evaluates its part of the microbatches. Returns all losses on the
  /// ranks that have the last stage. Does not change parameters or gradients.
  std::optional<EvaluationResult> after(std::int64_t step);

 private:
  /// Keeps inputs and losses apart from the training steps' records.
  class Observer : public StepObserver {
   public:
    Observer(StepObserver& heartbeat, std::int64_t microbatches, bool digests)
        : data_digests(microbatches), heartbeat_(heartbeat), digests_(digests) {}
    void on_input(std::int64_t microbatch, const Microbatch& data) override {
      if (digests_) data_digests.add(microbatch, data);
    }
    void action_began(const StepAction& action) override { heartbeat_.action_began(action); }
    void waiting(const StepAction& action, const StepAction& awaited, int peer) override {
      heartbeat_.waiting(action, awaited, peer);
    }
    void waited(const StepAction& action, std::int64_t nanoseconds) override { heartbeat_.waited(action, nanoseconds); }
    void on_loss(std::int64_t microbatch, const at::Tensor& loss) override { losses.set(microbatch, loss); }

    StepLosses losses;
    DataDigests data_digests;

   private:
    StepObserver& heartbeat_;
    bool digests_;
  };

  Group& pipeline_;
  int replicas_;
  BatchPlan batches_;  ///< those that this replica evaluates
  bool owns_loss_;
  Observer observer_;
  ScheduleExecutor executor_;
};

}  // namespace plumbline
