// SPDX-License-Identifier: BSD-3-Clause
#include "model/copy_values.hpp"

#include <ATen/core/grad_mode.h>

#include <stdexcept>

#include "model/parameter.hpp"

namespace plumbline {

void copy_values(LlamaSlice& slice, const LlamaSlice& from) {
  const at::NoGradGuard no_grad;
  if (slice.parameters().size() != from.parameters().size()) {
    throw std::logic_error("values are taken from a slice of other units");
  }
  for (std::size_t i = 0; i < slice.parameters().size(); ++i) {
    Parameter& parameter = slice.parameters()[i];
    at::Tensor value = parameter.trained();
    if (!parameter.alias) value.copy_(from.parameters()[i].trained());
  }
  slice.round_masters();
}

}  // namespace plumbline
