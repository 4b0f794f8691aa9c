// SPDX-License-Identifier: BSD-3-Clause
// Who watches a trainer's steps: told of what happens, in the order in which it happens, and without a say in it.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <optional>
#include <string>

#include "training/microbatch.hpp"
#include "training/step_update.hpp"
#include "training/tied_weight.hpp"
#include "training/train_state.hpp"

namespace plumbline {

/// One action of a step, in the text form that schedules have: "1F3", "0SEND_F2", "0STEP".
struct StepAction {
  std::int64_t step = 0;
  std::int64_t index = 0;  ///< the step's actions, counted from 0 as they begin
  std::string text;
  std::int64_t stage = 0;
  std::optional<std::int64_t> microbatch;
  bool computes = false;  ///< a forward or backward pass, or a half of one
};

/// An activation or its gradient at the cut between two stages.
struct Crossing {
  std::int64_t step = 0;
  std::int64_t microbatch = 0;
  const char* direction = "";                                             ///< forward | backward
  const std::string& cut;                                                 ///< the unit after it
  const char* side = "";                                                  ///< send | receive | local | computed
  std::optional<std::int64_t> from_stage = {}, to_stage = {}, peer = {};  ///< empty on one device
};

class StepObserver {
 public:
  virtual ~StepObserver() = default;

  virtual void step_began(std::int64_t /*step*/) {}

  virtual void action_began(const StepAction& /*action*/) {}
  /// `action` cannot go on before `peer` has done its part; `awaited`: the receive in whose place it stands still, or
  /// the action itself.
  virtual void waiting(const StepAction& /*action*/, const StepAction& /*awaited*/, int /*peer*/) {}
  virtual void waited(const StepAction& /*action*/, std::int64_t /*nanoseconds*/) {}
  virtual void action_ended(const StepAction& /*action*/) {}

  /// What a microbatch is fed with, on the host.
  virtual void fed(std::int64_t /*microbatch*/, const Microbatch& /*data*/) {}
  virtual void crossed(const Crossing& /*crossing*/, const at::Tensor& /*tensor*/) {}
  /// A microbatch's scaled loss, a scalar.
  virtual void lost(std::int64_t /*microbatch*/, const at::Tensor& /*loss*/) {}

  /// A microbatch's backward pass has ended, and somebody asked what the gradients are then.
  virtual void accumulated(std::int64_t /*microbatch*/, const TrainState& /*state*/) {}
  /// The gradients of a tied weight's uses are about to be added.
  virtual void before_tied_sum(const TiedWeight& /*tied*/) {}
  /// All gradients are summed up, and not yet clipped.
  virtual void before_update(std::int64_t /*step*/, const TrainState& /*state*/) {}
  virtual void after_update(std::int64_t /*step*/, const TrainState& /*state*/, const StepUpdate& /*update*/) {}

  virtual void step_ended(std::int64_t /*step*/) {}
};

}  // namespace plumbline
