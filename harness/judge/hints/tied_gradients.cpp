// SPDX-License-Identifier: BSD-3-Clause
#include "harness/judge/hints/tied_gradients.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <vector>

#include "harness/judge/hints/advice.hpp"
#include "harness/judge/hints/common_factor.hpp"
#include "support/text.hpp"

namespace plumbline::judging {
namespace {

/// Another order of summing changes l2 by roundings of single elements only.
double rounding_of_size(const std::string& dtype) {
  return dtype == "bfloat16" || dtype == "float16" ? 0x1p-8 : 1e-5;
}

std::string words_of_weight(const StepEvidence& now, const std::vector<std::string>& names) {
  std::set<std::string> digests;
  std::set<std::int64_t> stages;
  bool differ = false, same_size = true;
  for (const auto& name : names) {
    const auto& rows = now.reference_rows.tensors("gradient", name);
    for (const auto& placed : now.candidate_rows.tensors("gradient", name)) {
      const TensorRow& mine = *placed.row;
      digests.insert(mine.digest);
      stages.insert(mine.stage);
      if (rows.empty() || rows.front().row->digest == mine.digest) continue;
      differ = true;
      same_size = same_size && near(mine.l2, rows.front().row->l2, rounding_of_size(mine.dtype));
    }
  }
  if (!differ || stages.size() < 2) return "";
  const std::string weight = join(names, "/");
  if (digests.size() > 1)
    return fmt::format("the stages have different gradients of the tied weight {}: sum them over its copies", weight);
  const std::string words = advice(now.cell.reference.manifest, Advice::one_leaf);
  return same_size && !words.empty() ? fmt::format("tied weight {}, of the same size{}", weight, words) : "";
}

}  // namespace

std::map<std::string, std::string> tied_gradient_words(const StepEvidence& now) {
  std::map<std::string, std::string> words;
  for (const auto& names : now.cell.candidate.manifest.tied) {
    const std::string of_weight = words_of_weight(now, names);
    for (const auto& name : names) {
      if (!of_weight.empty()) words[name] = of_weight;
    }
  }
  return words;
}

}  // namespace plumbline::judging
