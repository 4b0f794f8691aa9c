// SPDX-License-Identifier: BSD-3-Clause
#include "model/perturb.hpp"

#include <ATen/core/grad_mode.h>

#include <cmath>
#include <cstring>
#include <random>
#include <stdexcept>
#include <string>

#include "model/parameter.hpp"
#include "model/tied_names.hpp"
#include "support/hash.hpp"

namespace plumbline {
namespace {

/// The neighboring number in bits: away from zero for 1, towards zero for -1. Zero stays zero: it has no last place,
/// and its neighbors are not roundings of it.
template <typename Bits>
void move_elements(at::Tensor& value, std::mt19937_64& random) {
  auto* next = static_cast<std::byte*>(value.mutable_data_ptr());
  constexpr auto sign = static_cast<Bits>(Bits{1} << (8 * sizeof(Bits) - 1));
  for (std::int64_t i = 0; i < value.numel(); ++i, next += sizeof(Bits)) {
    // The C++ standard fixes generator and remainder, so the moves are the same on every machine.
    const auto move = static_cast<int>(random() % 3) - 1;
    Bits bits;
    std::memcpy(&bits, next, sizeof bits);
    if ((bits & static_cast<Bits>(~sign)) == 0) continue;
    bits = static_cast<Bits>(move < 0 ? bits - 1 : bits + static_cast<Bits>(move));
    std::memcpy(next, &bits, sizeof bits);
  }
}

void move_elements(at::Tensor& value, std::mt19937_64& random) {
  switch (value.scalar_type()) {
    case at::kFloat:
      return move_elements<std::uint32_t>(value, random);
    case at::kDouble:
      return move_elements<std::uint64_t>(value, random);
    case at::kBFloat16:
      return move_elements<std::uint16_t>(value, random);
    default:
      throw std::logic_error("a slice is float32, float64 or bfloat16");
  }
}

}  // namespace

void perturb(LlamaSlice& slice, std::uint64_t seed) {
  const at::NoGradGuard no_grad;
  for (Parameter& parameter : slice.parameters()) {
    if (parameter.alias) continue;
    const std::string& stream = owner_name(slice.config(), parameter.name);
    std::mt19937_64 random(hash64("perturb/" + std::to_string(seed) + "/" + stream));
    at::Tensor value = parameter.trained();
    at::Tensor host = value.detach().cpu();
    move_elements(host, random);
    if (!value.is_cpu()) value.copy_(host);
  }
  slice.round_masters();
}

}  // namespace plumbline
