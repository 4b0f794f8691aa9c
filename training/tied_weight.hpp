// SPDX-License-Identifier: BSD-3-Clause
// The weight that a tied model's embedding and head share: the copies on this rank, and the sum of the gradients of its
// two uses. Between ranks the gradients are exchanged first (pipeline/tied_exchange.hpp).
#pragma once

#include <vector>

#include "training/train_state.hpp"

namespace plumbline {

/// Holds pointers into the state's parameters, so its lifetime must not exceed theirs.
class TiedWeight {
 public:
  /// `tied` false: the model has no tied weight.
  TiedWeight(bool tied, const TrainState& state);

  const TrainedParameter* embedding() const { return embedding_; }  ///< null if another rank holds it
  const TrainedParameter* head() const { return head_; }            ///< null if another rank holds it
  bool both() const { return embedding_ != nullptr && head_ != nullptr; }
  /// Whether both uses are in one slice, so that the list has no action for their sum.
  bool within_a_slice() const { return head_ != nullptr && head_->alias; }
  /// The copies on this rank, embedding first.
  std::vector<const TrainedParameter*> held() const;

  /// If both uses are here: embedding's gradient += head's, then the head's gradient = the sum. Otherwise does nothing.
  void add_uses() const;

 private:
  const TrainedParameter* embedding_ = nullptr;
  const TrainedParameter* head_ = nullptr;
};

}  // namespace plumbline
