// SPDX-License-Identifier: BSD-3-Clause
// The weight that a tied model's embedding and head share: which copies a rank holds, and how the gradients of its two
// uses become one. Between ranks the gradients travel first (pipeline/tied_exchange.hpp).
#pragma once

#include <vector>

#include "training/train_state.hpp"

namespace plumbline {

/// Points into the state's parameters: make it where it is needed, keep it no longer than they stay.
class TiedWeight {
 public:
  /// `tied` false: there is none, and a rank holds no copy of it.
  TiedWeight(bool tied, const TrainState& state);

  const TrainedParameter* embedding() const { return embedding_; }  ///< null where another rank holds it
  const TrainedParameter* head() const { return head_; }            ///< null where another rank holds it
  bool both() const { return embedding_ != nullptr && head_ != nullptr; }
  /// Both uses within one slice, so that no action of a list stands for their sum.
  bool within_a_slice() const { return head_ != nullptr && head_->alias; }
  /// The copies held here, embedding first.
  std::vector<const TrainedParameter*> held() const;

  /// Where both uses are held: embedding's gradient += head's, and the head's becomes the sum too. Else nothing.
  void add_uses() const;

 private:
  const TrainedParameter* embedding_ = nullptr;
  const TrainedParameter* head_ = nullptr;
};

}  // namespace plumbline
