// SPDX-License-Identifier: BSD-3-Clause
// The input data of a microbatch.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

namespace plumbline {

struct Microbatch {
  at::Tensor ids;                 ///< int64 [batch, sequence]; padding is id 0
  at::Tensor labels;              ///< int64 [batch, sequence], already shifted; -100 = not valid
  std::int64_t tokens = 0;        ///< real positions without padding
  std::int64_t valid_tokens = 0;  ///< labels other than -100
};

/// Copies its tensors to another device; does nothing on the CPU.
Microbatch to_device(Microbatch microbatch, at::Device device);

}  // namespace plumbline
