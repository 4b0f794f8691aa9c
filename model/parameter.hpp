// SPDX-License-Identifier: BSD-3-Clause
// A model parameter and its value.
#pragma once

#include <ATen/core/Tensor.h>

#include <string>

namespace plumbline {

struct Parameter {
  std::string name;
  std::string unit;
  /// Leaf that requires a gradient; allocate_gradients() allocates `value.grad()`. The slice computes with this tensor:
  /// modify it in place, never reassign it.
  at::Tensor value;
  bool alias = false;  ///< lm_head.weight of a tied model in a slice that also holds embed_tokens: shares its storage,
                       ///< has its own gradient
  /// Mixed precision: the trained float32 master, of which `value` is a rounded copy; an alias has its owner's.
  /// Undefined if the value itself is trained.
  at::Tensor master = {};
  /// Mixed precision: the float32 sum of the widened microbatch gradients; `value.grad()` is then undefined except
  /// while a backward pass sets it. Undefined if `value.grad()` is the accumulator.
  at::Tensor gradient_sum = {};

  /// The tensor that is updated, loaded and saved.
  const at::Tensor& trained() const { return master.defined() ? master : value; }
  /// Rounds the master to the copy; does nothing without a master, or for an alias (its owner does it).
  void round_master() const;
};

}  // namespace plumbline
