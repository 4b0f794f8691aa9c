#include "harness/judge/audit/norm_rounding.hpp"

#include <cmath>

#include "harness/judge/audit/number_format.hpp"
#include "record/precision.hpp"

namespace plumbline::auditing {

double norm_rounding(const std::string& dtype, double tensors, double largest) {
  const std::string trained = trained_dtype(dtype);
  return (tensors + 4 * std::sqrt(largest)) *
         unit_roundoff(is_storage(trained) ? storage_of(trained) : Storage::float32);
}

}  // namespace plumbline::auditing
