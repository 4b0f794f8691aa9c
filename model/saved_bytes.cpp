// SPDX-License-Identifier: BSD-3-Clause
#include "model/saved_bytes.hpp"

#include "support/machine_memory.hpp"

namespace plumbline {
namespace {

struct Widths {
  std::int64_t element;  ///< bytes per element of weights and activations
  std::int64_t wide;     ///< bytes per element of the computation: float32 for bfloat16 values
};

/// The squared input, one factor per token, and the factor of the weight.
std::int64_t bytes_of_norm(const LlamaConfig& config, const Widths& widths) {
  return sum_of_sizes({product_of_sizes({widths.wide, sum_of_sizes({config.hidden_size, 1})}),
                       product_of_sizes({widths.element, config.hidden_size})});
}

/// The norm; the input of q, k, v (H); query, key, value and attention output (2A + 2K); one log-sum-exp per head.
/// Attention by matrix products saves keys and values expanded to the width of the queries, and the softmax.
std::int64_t bytes_of_attention(const LlamaConfig& config, const Widths& widths, std::int64_t math_sequence) {
  const bool math = math_sequence > 0;
  const std::int64_t attention = math ? sum_of_sizes({product_of_sizes({4, config.heads, config.head_dim}),
                                                      product_of_sizes({config.heads, math_sequence})})
                                      : sum_of_sizes({product_of_sizes({2, config.heads, config.head_dim}),
                                                      product_of_sizes({2, config.kv_heads, config.head_dim})});
  return sum_of_sizes({bytes_of_norm(config, widths),
                       product_of_sizes({widths.element, sum_of_sizes({config.hidden_size, attention})}),
                       math ? 0 : product_of_sizes({widths.wide, config.heads})});
}

/// The norm; the input of gate, up (H); gate before and after SiLU, up, and their product (4I).
std::int64_t bytes_of_mlp(const LlamaConfig& config, const Widths& widths) {
  const std::int64_t elements = sum_of_sizes({config.hidden_size, product_of_sizes({4, config.intermediate_size})});
  return sum_of_sizes({bytes_of_norm(config, widths), product_of_sizes({widths.element, elements})});
}

}  // namespace

std::int64_t saved_bytes(const LlamaConfig& config, Unit unit, std::int64_t tokens, c10::ScalarType dtype,
                         Recompute recompute, std::int64_t math_sequence) {
  const auto element = static_cast<std::int64_t>(c10::elementSize(dtype));
  const Widths widths{element, dtype == c10::ScalarType::BFloat16 ? 4 : element};
  if (recomputes(recompute, unit.kind)) return product_of_sizes({tokens, element, config.hidden_size});
  const auto half = [&](UnitKind kind) { return saved_bytes(config, {kind}, tokens, dtype, recompute, math_sequence); };
  switch (unit.kind) {
    case UnitKind::layer:
      return sum_of_sizes({half(UnitKind::attention), half(UnitKind::mlp)});
    case UnitKind::attention:
      return product_of_sizes({tokens, bytes_of_attention(config, widths, math_sequence)});
    case UnitKind::mlp:
      return product_of_sizes({tokens, bytes_of_mlp(config, widths)});
    case UnitKind::norm:
      return product_of_sizes({tokens, bytes_of_norm(config, widths)});
    case UnitKind::head:  // its input, and the gradient of the logits
      return product_of_sizes({tokens, element, sum_of_sizes({config.vocab_size, config.hidden_size})});
    default:
      return 0;
  }
}

}  // namespace plumbline
