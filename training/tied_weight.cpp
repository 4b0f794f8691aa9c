// SPDX-License-Identifier: BSD-3-Clause
#include "training/tied_weight.hpp"

#include <ATen/core/grad_mode.h>

#include "model/tied_names.hpp"

namespace plumbline {

TiedWeight::TiedWeight(bool tied, const TrainState& state) {
  if (!tied) return;
  for (const TrainedParameter& parameter : state.parameters) {
    if (parameter.name == embedding_weight) embedding_ = &parameter;
    if (parameter.name == head_weight) head_ = &parameter;
  }
}

std::vector<const TrainedParameter*> TiedWeight::held() const {
  std::vector<const TrainedParameter*> copies;
  for (const TrainedParameter* copy : {embedding_, head_}) {
    if (copy != nullptr) copies.push_back(copy);
  }
  return copies;
}

void TiedWeight::add_uses() const {
  if (!both()) return;
  const at::NoGradGuard no_grad;
  at::Tensor sum = embedding_->gradient();
  at::Tensor head_use = head_->gradient();
  sum.add_(head_use);
  head_use.copy_(sum);
}

}  // namespace plumbline
