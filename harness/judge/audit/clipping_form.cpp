#include "harness/judge/audit/clipping_form.hpp"

#include <cmath>

namespace plumbline::auditing {

double clip_coefficient_of(double norm, std::optional<double> limit) {
  if (!limit) return 1;
  if (std::isnan(norm)) return norm;
  return norm > *limit ? *limit / norm : 1;
}

double clipped(Storage storage, double gradient, double coefficient) {
  return coefficient == 1 ? gradient : rounded(storage, gradient * coefficient);
}

}  // namespace plumbline::auditing
