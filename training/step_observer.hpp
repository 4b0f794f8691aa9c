// SPDX-License-Identifier: BSD-3-Clause
// Observer of a trainer's steps. Its functions are called in the order of the events and cannot change them.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <optional>
#include <string>

#include "training/microbatch.hpp"
#include "training/step_update.hpp"
#include "training/train_state.hpp"

namespace plumbline {

/// One action of a step, in the text form of schedules: "1F3", "0SEND_F2", "0STEP".
struct StepAction {
  std::int64_t step = 0;
  std::int64_t index = 0;  ///< number of the action within the step, in the order in which actions begin
  std::string text;
  std::int64_t stage = 0;
  std::optional<std::int64_t> microbatch;
  bool computes = false;  ///< a forward or backward pass, or a half of one
};

/// An activation or its gradient at a stage boundary.
struct BoundaryTensor {
  std::int64_t step = 0;
  std::int64_t microbatch = 0;
  const char* direction = "";                                             ///< forward | backward
  const std::string& boundary;                                            ///< the unit downstream of it
  const char* side = "";                                                  ///< send | receive | local | computed
  std::optional<std::int64_t> from_stage = {}, to_stage = {}, peer = {};  ///< empty on one device
};

class StepObserver {
 public:
  virtual ~StepObserver() = default;

  virtual void step_began(std::int64_t /*step*/) {}

  virtual void action_began(const StepAction& /*action*/) {}
  /// `action` waits for `peer`; `awaited`: the receive it waits for, or the action itself.
  virtual void waiting(const StepAction& /*action*/, const StepAction& /*awaited*/, int /*peer*/) {}
  virtual void waited(const StepAction& /*action*/, std::int64_t /*nanoseconds*/) {}
  virtual void action_ended(const StepAction& /*action*/) {}

  /// A microbatch's input data, on the host.
  virtual void on_input(std::int64_t /*microbatch*/, const Microbatch& /*data*/) {}
  virtual void on_boundary(const BoundaryTensor& /*crossing*/, const at::Tensor& /*tensor*/) {}
  /// A microbatch's scaled loss, a scalar.
  virtual void on_loss(std::int64_t /*microbatch*/, const at::Tensor& /*loss*/) {}

  /// After all gradients are summed, before clipping.
  virtual void before_update(std::int64_t /*step*/, const TrainState& /*state*/) {}
  virtual void after_update(std::int64_t /*step*/, const TrainState& /*state*/, const StepUpdate& /*update*/) {}

  virtual void step_ended(std::int64_t /*step*/) {}
};

}  // namespace plumbline
