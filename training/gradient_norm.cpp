#include "training/gradient_norm.hpp"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/linalg_vector_norm.h>
#include <ATen/ops/mul.h>
#include <c10/util/BFloat16.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <span>
#include <stdexcept>

#include "training/memory_meter.hpp"
#include "training/round_once.hpp"

namespace plumbline {

namespace {

at::Tensor gradient_of(const Parameter& parameter) {
  at::Tensor gradient = parameter.value.grad();
  if (!gradient.defined()) {
    throw std::logic_error("parameter " + parameter.name + " has no gradient tensor");
  }
  return gradient;
}

template <typename Number>
Number rounded(double value) {
  return static_cast<Number>(value);
}

template <>
c10::BFloat16 rounded<c10::BFloat16>(double value) {
  return round_to_bfloat16(value);
}

template <typename Number>
void scale(const at::Tensor& gradient, double coefficient) {
  const std::span numbers(gradient.mutable_data_ptr<Number>(), static_cast<std::size_t>(gradient.numel()));
  for (Number& number : numbers) {
    number = rounded<Number>(static_cast<double>(number) * coefficient);
  }
}

bool counted_at_embedding(const LlamaConfig& config, const std::string& name) {
  return config.tied && name == "lm_head.weight";
}

}  // namespace

void zero_gradients(std::vector<Parameter>& parameters) {
  const at::NoGradGuard no_grad;
  for (const Parameter& parameter : parameters) {
    gradient_of(parameter).zero_();
  }
}

void add_tied_uses(std::vector<Parameter>& parameters) {
  const auto alias = std::find_if(parameters.begin(), parameters.end(), [](const Parameter& p) { return p.alias; });
  if (alias == parameters.end()) {
    return;
  }
  const auto embedding = std::find_if(parameters.begin(), parameters.end(),
                                      [](const Parameter& p) { return p.name == "model.embed_tokens.weight"; });
  if (embedding == parameters.end()) {
    throw std::logic_error("a tied head without the embedding it shares");
  }
  const at::NoGradGuard no_grad;
  at::Tensor sum = gradient_of(*embedding);
  at::Tensor head_use = gradient_of(*alias);
  sum.add_(head_use);
  head_use.copy_(sum);
}

std::vector<ParameterNorm> gradient_norms(const LlamaConfig& config, const std::vector<Parameter>& parameters) {
  const at::NoGradGuard no_grad;
  const MemoryScope scope(MemoryOwner::other);
  std::vector<ParameterNorm> norms;
  std::vector<at::Tensor> gradients;
  for (const Parameter& parameter : parameters) {
    if (!counted_at_embedding(config, parameter.name)) {
      norms.push_back({parameter.name, 0});
      gradients.push_back(gradient_of(parameter));
    }
  }
  if (gradients.empty()) {
    return norms;
  }
  // One tensor for all from the start, so that some of a model's parameters never take more at once than all of them;
  // and one wait for a GPU, not one a parameter.
  const auto count = static_cast<std::int64_t>(gradients.size());
  const at::Tensor together = at::empty({count}, gradients.front().options().dtype(at::kDouble));
  for (std::int64_t i = 0; i < count; ++i) {
    at::Tensor norm = together.select(0, i);
    at::linalg_vector_norm_out(norm, gradients[static_cast<std::size_t>(i)], 2, std::nullopt, /*keepdim=*/false,
                               at::kDouble);
  }
  const at::Tensor host = together.to(at::kCPU);
  for (std::size_t i = 0; i < norms.size(); ++i) {
    norms[i].norm = host.const_data_ptr<double>()[i];
  }
  return norms;
}

double total_norm(const LlamaConfig& config, const std::vector<ParameterNorm>& norms) {
  std::map<std::string, double> by_name;
  for (const ParameterNorm& norm : norms) {
    if (!by_name.emplace(norm.name, norm.norm).second) {
      throw std::logic_error("two gradient norms of " + norm.name);
    }
  }
  double sum = 0;
  for (const ParameterShape& shape : parameter_shapes(config)) {
    if (counted_at_embedding(config, shape.name)) {
      continue;
    }
    const auto found = by_name.find(shape.name);
    if (found == by_name.end()) {
      throw std::logic_error("no gradient norm of " + shape.name);
    }
    sum += found->second * found->second;
    by_name.erase(found);
  }
  if (!by_name.empty()) {
    throw std::logic_error("a gradient norm of " + by_name.begin()->first + ", which the norm does not count");
  }
  return std::sqrt(sum);
}

double clip_coefficient(double norm, std::optional<double> limit) {
  if (!limit) {
    return 1.0;
  }
  if (std::isnan(norm)) {
    return norm;  // std::min would hide it behind 1
  }
  return std::min(1.0, *limit / norm);
}

void scale_gradients(std::vector<Parameter>& parameters, double coefficient) {
  if (coefficient == 1.0) {
    return;
  }
  for (const Parameter& parameter : parameters) {
    const at::Tensor gradient = gradient_of(parameter);
    if (!gradient.is_contiguous()) {
      throw std::logic_error("the gradient of " + parameter.name + " is not contiguous");
    }
    if (!gradient.is_cpu()) {
      const at::NoGradGuard no_grad;
      const MemoryScope scope(MemoryOwner::other);
      const at::Tensor exact = at::mul(gradient.to(at::kDouble), at::Scalar(coefficient));
      gradient.copy_(gradient.scalar_type() == at::kBFloat16 ? round_to_bfloat16(exact) : exact);
      continue;
    }
    if (gradient.scalar_type() == at::kFloat) {
      scale<float>(gradient, coefficient);
    } else if (gradient.scalar_type() == at::kDouble) {
      scale<double>(gradient, coefficient);
    } else if (gradient.scalar_type() == at::kBFloat16) {
      scale<c10::BFloat16>(gradient, coefficient);
    } else {
      throw std::logic_error("the gradient of " + parameter.name + " is none of float32, float64 and bfloat16");
    }
  }
}

}  // namespace plumbline
