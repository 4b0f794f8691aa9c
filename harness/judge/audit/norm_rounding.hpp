// How far a global norm may lie from the same norm summed in another order.
#pragma once

#include <string>

namespace plumbline::auditing {

/// By how much, relative to it, a norm may lie from another that was summed in another order and in the run's own
/// precision (`dtype`, as a manifest has it): each of the tensors' norms adds a rounding, and the roundings within one
/// of N elements, which err to both sides, come to no more than eight standard deviations of N of them, halved by the
/// root. `largest`: the elements of the largest tensor.
double norm_rounding(const std::string& dtype, double tensors, double largest);

}  // namespace plumbline::auditing
