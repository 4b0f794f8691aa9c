// SPDX-License-Identifier: BSD-3-Clause
#include "model/parameter.hpp"

#include <ATen/core/grad_mode.h>

namespace plumbline {

void Parameter::round_master() const {
  if (!master.defined() || alias) return;
  const at::NoGradGuard no_grad;
  at::Tensor copy = value;
  copy.copy_(master);
}

}  // namespace plumbline
