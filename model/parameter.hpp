// SPDX-License-Identifier: BSD-3-Clause
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
  /// In mixed precision, float32: what is trained, of which `value` is the copy rounded once; of an alias its owner's.
  /// Undefined where the value itself is trained.
  at::Tensor master = {};
  /// In mixed precision, float32: what microbatches' gradients are widened and added into; `value.grad()` is then
  /// undefined but for the moment in which a backward pass gives one. Undefined where `value.grad()` is that sum.
  at::Tensor gradient_sum = {};

  /// What the optimiser changes, what is loaded and saved.
  const at::Tensor& trained() const { return master.defined() ? master : value; }
  /// Makes the copy anew from the master; nothing where there is none, and of an alias, whose owner does it.
  void round_master() const;
};

}  // namespace plumbline
