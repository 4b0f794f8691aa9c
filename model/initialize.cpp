// SPDX-License-Identifier: BSD-3-Clause
#include "model/initialize.hpp"

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty.h>

#include <string>

#include "model/parameter.hpp"
#include "model/tied_names.hpp"
#include "support/hash.hpp"

namespace plumbline {
namespace {

void draw_normal(at::Tensor& value, double standard_deviation, std::uint64_t seed) {
  const at::Generator generator = at::detail::createCPUGenerator(seed);
  // Drawn on the CPU for every device: each device has its own generator, and the values must be equal.
  if (value.scalar_type() == at::kFloat && value.is_cpu()) {
    value.normal_(0.0, standard_deviation, generator);
  } else {
    value.copy_(at::empty(value.sizes(), at::kFloat).normal_(0.0, standard_deviation, generator));
  }
}

}  // namespace

void initialize(LlamaSlice& slice, std::uint64_t seed) {
  const at::NoGradGuard no_grad;
  for (Parameter& parameter : slice.parameters()) {
    if (parameter.alias) {
      continue;
    }
    at::Tensor value = parameter.trained();
    if (value.dim() == 2) {
      const std::string stream = std::to_string(seed) + "/" + owner_name(slice.config(), parameter.name);
      draw_normal(value, slice.config().initializer_range, hash64(stream));
    } else {
      value.fill_(parameter.name.ends_with(".bias") ? 0.0 : 1.0);
    }
  }
  slice.round_masters();
}

}  // namespace plumbline
