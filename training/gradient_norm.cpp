// SPDX-License-Identifier: BSD-3-Clause
#include "training/gradient_norm.hpp"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/linalg_vector_norm.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <span>
#include <stdexcept>
#include <string>

#include "model/parameter_shapes.hpp"
#include "model/tied_names.hpp"
#include "training/memory_meter.hpp"

namespace plumbline {

namespace {

std::int64_t pieces_of(const at::Tensor& gradient) {
  return std::max<std::int64_t>(1, (gradient.numel() + norm_piece - 1) / norm_piece);
}

double joined(std::span<const double> norms) {
  double sum = 0;
  for (const double norm : norms) sum += norm * norm;
  return std::sqrt(sum);
}

}  // namespace

std::vector<ParameterNorm> gradient_norms(const LlamaConfig& config, const TrainState& state) {
  const at::NoGradGuard no_grad;
  const MemoryScope scope(MemoryOwner::other);
  std::vector<ParameterNorm> norms;
  std::vector<at::Tensor> gradients;
  for (const TrainedParameter& parameter : state.parameters) {
    if (!is_tied_head(config, parameter.name)) {
      norms.push_back({parameter.name, 0});
      gradients.push_back(parameter.gradient());
    }
  }
  if (gradients.empty()) {
    return norms;
  }
  // One tensor for all results from the start, so that a subset of the parameters never needs more memory than all of
  // them; and one GPU synchronization instead of one per parameter.
  std::int64_t pieces = 0;
  for (const at::Tensor& gradient : gradients) pieces += pieces_of(gradient);
  const at::Tensor together = at::empty({pieces}, gradients.front().options().dtype(at::kDouble));
  std::int64_t next = 0;
  for (const at::Tensor& gradient : gradients) {
    const at::Tensor flat = gradient.view({-1});
    for (std::int64_t piece = 0; piece < pieces_of(gradient); ++piece) {
      const std::int64_t begin = piece * norm_piece, length = std::min(norm_piece, flat.numel() - begin);
      at::Tensor norm = together.select(0, next++);
      at::linalg_vector_norm_out(norm, flat.narrow(0, begin, length), 2, std::nullopt, /*keepdim=*/false, at::kDouble);
    }
  }
  const at::Tensor host = together.to(at::kCPU);
  const double* piece_norm = host.const_data_ptr<double>();
  for (std::size_t i = 0; i < norms.size(); ++i) {
    const std::int64_t count = pieces_of(gradients[i]);
    norms[i].norm = count == 1 ? *piece_norm : joined({piece_norm, static_cast<std::size_t>(count)});
    piece_norm += count;
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
    if (is_tied_head(config, shape.name)) {
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

}  // namespace plumbline
