// SPDX-License-Identifier: BSD-3-Clause
// What a stage is fed with.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

namespace plumbline {

struct Microbatch {
  at::Tensor ids;                 ///< int64 [batch, sequence]; padding is id 0
  at::Tensor labels;              ///< int64 [batch, sequence], shifted already; -100 = not valid
  std::int64_t tokens = 0;        ///< real positions, padding not counted
  std::int64_t valid_tokens = 0;  ///< labels other than -100
};

/// Its tensors on another device; nothing happens on the CPU.
Microbatch to_device(Microbatch microbatch, at::Device device);

}  // namespace plumbline
