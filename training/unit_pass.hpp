// The forward pass over a run of units, with the loss where the run ends in lm_head. One loop for both trainers, so
// that their tensors live equally long.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <functional>

#include "model/llama_slice.hpp"

namespace plumbline {

/// What turns logits into the scaled loss of a microbatch: (logits, labels, valid tokens of the step) -> scalar.
using LossFunction = std::function<at::Tensor(const at::Tensor&, const at::Tensor&, std::int64_t)>;

struct LossTarget {
  at::Tensor labels;  ///< int64 [batch, sequence]
  std::int64_t valid_tokens_of_step = 0;
  LossFunction loss;
};

/// Sees each unit start and end; the reference measures and records here.
class UnitObserver {
 public:
  virtual ~UnitObserver() = default;
  virtual void before_unit(std::int64_t unit, const at::Tensor& input) = 0;
  /// `output` is what the next unit will take; the unit's input has been let go of.
  virtual void after_unit(std::int64_t unit, const at::Tensor& output) = 0;
};

/// Runs the slice's units in order. `input`: ids, or an activation [batch, sequence, hidden], moved in so that it lives
/// only as long as the graph needs it. Returns the last unit's output, or the scaled loss where the slice ends in
/// lm_head. `target` is used there only. `observer` may be null.
at::Tensor forward_units(const LlamaSlice& slice, at::Tensor input, const LossTarget& target, UnitObserver* observer);

}  // namespace plumbline
