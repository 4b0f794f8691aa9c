// SPDX-License-Identifier: BSD-3-Clause
#include "harness/judge/predicates/clipping_form.hpp"

#include <algorithm>
#include <cmath>

namespace plumbline::predicates {

double clip_coefficient_of(double norm, std::optional<double> limit) {
  if (!limit) return 1;
  if (std::isnan(norm)) return norm;
  return norm > *limit ? *limit / norm : 1;
}

std::vector<double> right_coefficients(double norm, const Manifest& manifest) {
  if (!manifest.clip_norm || std::isnan(norm)) return {clip_coefficient_of(norm, manifest.clip_norm)};
  if (manifest.norm_order == "canonical" && manifest.clip_epsilon == 0)
    return {clip_coefficient_of(norm, manifest.clip_norm)};
  std::vector<Storage> computed = {Storage::float64, Storage::float32};
  if (is_storage(manifest.dtype)) computed.push_back(storage_of(manifest.dtype));
  std::vector<double> right;
  for (const Storage storage : computed) {
    const double sum = rounded(storage, norm + rounded(storage, manifest.clip_epsilon));
    for (const double limit :
         {*manifest.clip_norm, rounded(storage, *manifest.clip_norm)}) {  // torch rounds the limit, too
      right.push_back(std::min(1.0, rounded(storage, limit / sum)));
      right.push_back(std::min(1.0, rounded(storage, rounded(storage, 1 / sum) * limit)));
    }
  }
  return right;
}

}  // namespace plumbline::predicates
