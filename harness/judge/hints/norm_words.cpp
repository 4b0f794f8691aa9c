// SPDX-License-Identifier: BSD-3-Clause
#include "harness/judge/hints/norm_words.hpp"

#include <algorithm>

#include "harness/judge/hints/advice.hpp"
#include "harness/judge/hints/common_factor.hpp"
#include "harness/judge/predicates/norm_rounding.hpp"

namespace plumbline::judging {

std::string other_norm_words(const Record& record, double norm) {
  const std::string words = advice(record.manifest, Advice::other_norm);
  float largest = 0;
  for (const auto& gradient : predicates::gradients_once(record)) largest = std::max(largest, gradient.row->max_abs);
  return !words.empty() && largest > 0 && near(norm, largest) ? "; it is their largest element" + words : words;
}

}  // namespace plumbline::judging
