// A parameter of the model with its value.
#pragma once

#include <ATen/core/Tensor.h>

#include <string>

namespace plumbline {

struct Parameter {
  std::string name;
  std::string unit;
  /// Leaf that requires a gradient; `value.grad()` is preallocated by allocate_gradients(). The slice computes with
  /// this very tensor: change it in place, never assign another.
  at::Tensor value;
  bool alias = false;  ///< lm_head.weight of a tied model in a slice that holds embed_tokens too: embed_tokens'
                       ///< storage, a gradient of its own
};

}  // namespace plumbline
