#include "training/unit_pass.hpp"

#include <utility>

namespace plumbline {

at::Tensor forward_units(const LlamaSlice& slice, at::Tensor input, const LossTarget& target, UnitObserver* observer) {
  const std::int64_t head = slice.config().layers + 2;  // embed_tokens, the layers, norm, lm_head
  at::Tensor x = std::move(input);
  for (std::int64_t unit = slice.units().first; unit < slice.units().end; ++unit) {
    if (observer != nullptr) observer->before_unit(unit, x);
    at::Tensor y = slice.forward_unit(unit, x);
    if (unit == head) y = target.loss(y, target.labels, target.valid_tokens_of_step);
    x = std::move(y);
    if (observer != nullptr) observer->after_unit(unit, x);
  }
  return x;
}

}  // namespace plumbline
