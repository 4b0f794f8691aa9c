#include "training/gradient_norm.hpp"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/linalg_vector_norm.h>

#include "model/tied_names.hpp"
#include "training/memory_meter.hpp"

namespace plumbline {

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

}  // namespace plumbline
