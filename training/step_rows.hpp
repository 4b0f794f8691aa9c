// SPDX-License-Identifier: BSD-3-Clause
// A step's rows of microbatches.csv, memory.csv and steps.csv: inputs, losses, memory and update.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "record/writer.hpp"
#include "training/batch_plan.hpp"
#include "training/data_digests.hpp"
#include "training/memory_meter.hpp"
#include "training/microbatch.hpp"
#include "training/recording_clock.hpp"
#include "training/step_losses.hpp"
#include "training/step_observer.hpp"

namespace plumbline {

/// Ends the step in the record, so it must be the last of the observers that add to it.
class StepRows : public StepObserver {
 public:
  /// `clock` runs while this observer and the others are called. `owns_loss`: whether this rank computes the losses.
  StepRows(RecordWriter& writer, const BatchPlan& plan, MemoryMeter& meter, const RecordingClock& clock, bool owns_loss)
      : writer_(writer), plan_(plan), meter_(meter), clock_(clock), owns_loss_(owns_loss), fed_(plan.microbatches()) {}

  void step_began(std::int64_t step) override;
  void on_input(std::int64_t microbatch, const Microbatch& data) override {
    if (recorded()) fed_.add(microbatch, data);
  }
  void on_loss(std::int64_t microbatch, const at::Tensor& loss) override { losses_.set(microbatch, loss); }
  void after_update(std::int64_t /*step*/, const TrainState& /*state*/, const StepUpdate& update) override {
    update_ = update;
  }
  void waited(const StepAction& /*action*/, std::int64_t nanoseconds) override { waited_ns_ += nanoseconds; }
  void step_ended(std::int64_t step) override;

  /// Of one action.
  void add_activation_peak(std::int64_t bytes) { activation_peak_ = std::max(activation_peak_, bytes); }
  /// By microbatch, of the step that ends, on the rank that computes them.
  const std::vector<float>& losses() { return losses_.read(); }
  /// Of several replicas: the losses of all microbatches of the step, of which the step's loss is the sum.
  void set_losses_of_step(std::vector<float> losses) { losses_of_step_ = std::move(losses); }
  /// Of the last completed step; null if another rank computes it.
  std::optional<float> loss() const { return loss_; }
  const StepUpdate& update() const { return update_; }
  /// Time spent waiting for other ranks in the last completed step.
  double waited_seconds() const { return static_cast<double>(waited_ns_) * 1e-9; }

 private:
  bool recorded() const { return writer_.level() != RecordLevel::none; }
  void add_microbatches(std::int64_t step);

  RecordWriter& writer_;
  const BatchPlan& plan_;
  MemoryMeter& meter_;
  const RecordingClock& clock_;
  bool owns_loss_;
  std::int64_t begin_ns_ = 0;
  std::int64_t waited_ns_ = 0;
  std::int64_t activation_peak_ = 0;
  DataDigests fed_;
  StepLosses losses_;
  std::vector<float> losses_of_step_;
  StepUpdate update_;
  std::optional<float> loss_;
};

}  // namespace plumbline
