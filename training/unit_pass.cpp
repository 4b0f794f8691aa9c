// SPDX-License-Identifier: BSD-3-Clause
#include "training/unit_pass.hpp"

#include <utility>

#include "model/unit.hpp"
#include "training/loss.hpp"
#include "training/recomputed_unit.hpp"

namespace plumbline {

at::Tensor forward_unit(const LlamaSlice& slice, std::int64_t unit, const at::Tensor& input, const LossTarget& target,
                        Recompute recompute) {
  const UnitKind kind = unit_at(slice.config(), unit).kind;
  if (kind == UnitKind::layer && recompute == Recompute::layer) return forward_to_recompute(slice, unit, input);
  at::Tensor output = slice.forward_unit(unit, input);
  if (kind == UnitKind::head) output = token_weighted_loss(output, target.labels, target.valid_tokens_of_step);
  return output;
}

at::Tensor forward_units(const LlamaSlice& slice, at::Tensor input, const LossTarget& target, Recompute recompute) {
  at::Tensor x = std::move(input);
  for (std::int64_t unit = slice.units().first; unit < slice.units().end; ++unit) {
    x = forward_unit(slice, unit, x, target, recompute);
  }
  return x;
}

}  // namespace plumbline
