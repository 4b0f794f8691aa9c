// The global gradient norm and clipping, the same bits on one device and on P ranks (exactness.md, 4).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "model/llama_slice.hpp"

namespace plumbline {

struct ParameterNorm {
  std::string name;
  double norm = 0;
};

/// Gradients of a step end: zero, add the tied use, scale.
void zero_gradients(std::vector<Parameter>& parameters);
/// In a slice with an alias: embed_tokens' gradient += lm_head's, and lm_head's becomes the sum too. Else nothing.
void add_tied_uses(std::vector<Parameter>& parameters);

/// fp64 vector norm of each gradient, in the slice's order; of a tied model without `lm_head.weight`, whose gradient is
/// embed_tokens'.
std::vector<ParameterNorm> gradient_norms(const LlamaConfig& config, const std::vector<Parameter>& parameters);
/// Square root of the left-to-right sum of squares in canonical order. `norms` may come from many ranks in any order;
/// throws std::logic_error unless each parameter of the model stands exactly once, and of a tied model no
/// `lm_head.weight`.
double total_norm(const LlamaConfig& config, const std::vector<ParameterNorm>& norms);
/// min(1, limit / norm) without an epsilon; 1 without a limit; NaN for a NaN norm.
double clip_coefficient(double norm, std::optional<double> limit);
/// Gradient times coefficient, in fp64, rounded once to its dtype; nothing for coefficient 1. Makes no tensor.
void scale_gradients(std::vector<Parameter>& parameters, double coefficient);

}  // namespace plumbline
