// SPDX-License-Identifier: BSD-3-Clause
#include "harness/judge/hints/norm_words.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "harness/judge/hints/common_factor.hpp"
#include "harness/judge/predicates/norm_rounding.hpp"

namespace plumbline::judging {

std::string other_norm_words(const Record& record, double norm) {
  if (record.manifest.traits.own) return "";
  float largest = 0;
  for (const auto& gradient : predicates::gradients_once(record)) largest = std::max(largest, gradient.row->max_abs);
  return fmt::format(
      "; {}only the 2-norm is judged: if the trainer clips by another, give Record(clip_norm=None), and "
      "record.gradients() before clipping without record.norm()",
      largest > 0 && near(norm, largest) ? "it is their largest element: " : "");
}

}  // namespace plumbline::judging
