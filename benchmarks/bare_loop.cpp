// SPDX-License-Identifier: BSD-3-Clause
// The reference's step without the project: the same ATen calls in one plain loop, of which nothing but the parameter
// shapes is ours. Prints the seconds of each step but the first, so that benchmarks/paired.py can hold the reference
// against it.
#include <ATen/Context.h>
#include <ATen/Parallel.h>
#include <ATen/Tensor.h>
#include <ATen/TensorOperators.h>
#include <ATen/ops/_fused_adamw.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/cross_entropy_loss.h>
#include <ATen/ops/embedding.h>
#include <ATen/ops/linalg_vector_norm.h>
#include <ATen/ops/linear.h>
#include <ATen/ops/pow.h>
#include <ATen/ops/randint.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/rsqrt.h>
#include <ATen/ops/scaled_dot_product_attention.h>
#include <ATen/ops/silu.h>
#include <ATen/ops/zeros.h>
#include <ATen/ops/zeros_like.h>
#include <c10/core/GradMode.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>
#include <vector>

#include "model/config.hpp"
#include "model/parameter_shapes.hpp"

namespace {

using at::Tensor;
using Weights = std::map<std::string, Tensor>;

Tensor norm(const Tensor& x, const Tensor& weight, double eps) {
  return weight * (x * at::rsqrt(x.pow(2).mean(-1, true) + eps));
}

Tensor rotate(const Tensor& x, const Tensor& cos, const Tensor& sin) {
  const auto half = x.size(-1) / 2;
  return x * cos + at::cat({-x.slice(-1, half), x.slice(-1, 0, half)}, -1) * sin;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 6) {
    std::fputs("usage: bare_loop CONFIG.json STEPS MICROBATCHES BATCH SEQUENCE\n", stderr);
    return 2;
  }
  const plumbline::LlamaConfig c = plumbline::load_config(argv[1]);
  const int steps = std::atoi(argv[2]);
  const int microbatches = std::atoi(argv[3]);
  const int64_t batch = std::atoi(argv[4]);
  const int64_t sequence = std::atoi(argv[5]);
  at::set_num_threads(1);
  at::globalContext().setDeterministicAlgorithms(true, false);
  at::globalContext().setDeterministicFillUninitializedMemory(false);
  at::globalContext().setSDPUseMath(false);

  Weights w;
  std::vector<Tensor> values, gradients, first, second, counts;
  for (const auto& shape : plumbline::parameter_shapes(c)) {
    Tensor value = at::randn(shape.shape).mul_(c.initializer_range).set_requires_grad(true);
    value.mutable_grad() = at::zeros_like(value);
    w[shape.name] = value;
    values.push_back(value.detach());
    gradients.push_back(value.grad());
    first.push_back(at::zeros_like(value.detach()));
    second.push_back(at::zeros_like(value.detach()));
    counts.push_back(at::zeros({}));
  }
  const Tensor inverse = 1.0 / at::pow(c.rope_theta, at::arange(0, c.head_dim, 2, at::kFloat) / c.head_dim);
  const Tensor half = at::arange(sequence, at::kFloat).unsqueeze(1) * inverse;
  const Tensor angles = at::cat({half, half}, -1);
  const Tensor cos = angles.cos();
  const Tensor sin = angles.sin();
  const auto heads = [&](const Tensor& x) { return x.view({batch, sequence, -1, c.head_dim}).transpose(1, 2); };

  std::vector<double> seconds;
  for (int step = 0; step < steps; ++step) {
    const auto begin = std::chrono::steady_clock::now();
    for (Tensor& gradient : gradients) gradient.zero_();
    for (int microbatch = 0; microbatch < microbatches; ++microbatch) {
      const Tensor ids = at::randint(c.vocab_size, {batch, sequence}, at::kLong);
      const Tensor labels = at::randint(c.vocab_size, {batch, sequence}, at::kLong);
      Tensor x = at::embedding(w["model.embed_tokens.weight"], ids);
      for (int64_t layer = 0; layer < c.layers; ++layer) {
        const std::string p = "model.layers." + std::to_string(layer) + ".";
        const Tensor in = norm(x, w[p + "input_layernorm.weight"], c.rms_norm_eps);
        const Tensor q = rotate(heads(at::linear(in, w[p + "self_attn.q_proj.weight"])), cos, sin);
        const Tensor k = rotate(heads(at::linear(in, w[p + "self_attn.k_proj.weight"])), cos, sin);
        const Tensor v = heads(at::linear(in, w[p + "self_attn.v_proj.weight"]));
        const Tensor mixed = at::scaled_dot_product_attention(
            q, k, v, std::nullopt, 0.0, true, std::pow(double(c.head_dim), -0.5), c.heads != c.kv_heads);
        x = x + at::linear(mixed.transpose(1, 2).reshape({batch, sequence, -1}), w[p + "self_attn.o_proj.weight"]);
        const Tensor after = norm(x, w[p + "post_attention_layernorm.weight"], c.rms_norm_eps);
        x = x + at::linear(at::silu(at::linear(after, w[p + "mlp.gate_proj.weight"])) *
                               at::linear(after, w[p + "mlp.up_proj.weight"]),
                           w[p + "mlp.down_proj.weight"]);
      }
      const Tensor logits = at::linear(norm(x, w["model.norm.weight"], c.rms_norm_eps), w["lm_head.weight"]);
      const Tensor loss =
          at::cross_entropy_loss(logits.view({-1, c.vocab_size}), labels.view({-1}), {}, at::Reduction::Sum) /
          static_cast<double>(microbatches * batch * sequence);
      static_cast<void>(loss.item<float>());
      loss.backward();
    }
    c10::NoGradGuard no_grad;
    double sum = 0;
    for (const Tensor& gradient : gradients) {
      const double n = at::linalg_vector_norm(gradient, 2, std::nullopt, false, at::kDouble).item<double>();
      sum += n * n;
    }
    const double coefficient = std::min(1.0, 1.0 / std::sqrt(sum));
    for (Tensor& gradient : gradients) gradient.mul_(coefficient);
    for (Tensor& count : counts) count.add_(1);
    at::_fused_adamw_(values, gradients, first, second, {}, counts, 1e-3, 0.9, 0.99, 0.1, 1e-8, false, false);
    seconds.push_back(std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
  }
  for (std::size_t step = 1; step < seconds.size(); ++step) std::printf("%.6f\n", seconds[step]);  // the first warms up
  return 0;
}
