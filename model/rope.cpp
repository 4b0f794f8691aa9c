// SPDX-License-Identifier: BSD-3-Clause
#include "model/rope.hpp"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/add.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/cos.h>
#include <ATen/ops/mul.h>
#include <ATen/ops/neg.h>
#include <ATen/ops/pow.h>
#include <ATen/ops/sin.h>
#include <ATen/ops/where.h>

#include <numbers>

namespace plumbline {
namespace {

// Python's `scalar / tensor` computes reciprocal times scalar, with two roundings; so does this.
at::Tensor divide(double scalar, const at::Tensor& tensor) {
  return tensor.reciprocal().mul(scalar);
}

/// Llama 3.1's rescaling: long wavelengths are divided by the factor, short ones kept, those between blended.
/// Reference implementation: transformers, modeling_rope_utils.py, _compute_llama3_parameters.
at::Tensor rescale(const at::Tensor& inverse_frequency, const Llama3RopeScaling& scaling) {
  const double context = scaling.original_max_position_embeddings;
  const at::Tensor wavelength = divide(2 * std::numbers::pi, inverse_frequency);
  const at::Tensor is_long = wavelength.gt(context / scaling.low_freq_factor);
  const at::Tensor is_short = wavelength.lt(context / scaling.high_freq_factor);
  const at::Tensor divided = at::where(is_long, inverse_frequency.div(scaling.factor), inverse_frequency);

  const at::Tensor smooth =
      divide(context, wavelength).sub(scaling.low_freq_factor).div(scaling.high_freq_factor - scaling.low_freq_factor);
  const at::Tensor blended = smooth.neg().add(1).mul(divided).div(scaling.factor).add(smooth.mul(divided));
  return at::where(is_long.logical_or(is_short).logical_not(), blended, divided);
}

/// [head_dim / 2]
at::Tensor inverse_frequencies(const LlamaConfig& config, at::ScalarType dtype) {
  const at::Tensor exponent = at::arange(0, config.head_dim, 2, dtype).div(config.head_dim);
  const at::Tensor plain = divide(1.0, at::pow(config.rope_theta, exponent));
  return config.rope_scaling ? rescale(plain, *config.rope_scaling) : plain;
}

at::Tensor rotate_half(const at::Tensor& heads) {
  const std::int64_t half = heads.size(-1) / 2;
  return at::cat({heads.slice(-1, half).neg(), heads.slice(-1, 0, half)}, -1);
}

}  // namespace

RopeTables make_rope_tables(const LlamaConfig& config, std::int64_t longest_sequence, at::ScalarType dtype) {
  const at::NoGradGuard no_grad;
  const at::ScalarType made_in = dtype == at::kBFloat16 ? at::kFloat : dtype;
  const at::Tensor positions = at::arange(longest_sequence, made_in).unsqueeze(-1);
  const at::Tensor angles = positions.mul(inverse_frequencies(config, made_in));
  const at::Tensor both_halves = at::cat({angles, angles}, -1);
  return {both_halves.cos().to(dtype), both_halves.sin().to(dtype)};
}

RopeTables first_positions(const RopeTables& tables, std::int64_t sequence) {
  return {tables.cos.narrow(0, 0, sequence), tables.sin.narrow(0, 0, sequence)};
}

at::Tensor apply_rope(const at::Tensor& heads, const RopeTables& tables) {
  return at::add(at::mul(heads, tables.cos), at::mul(rotate_half(heads), tables.sin));
}

}  // namespace plumbline
