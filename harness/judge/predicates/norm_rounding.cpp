// SPDX-License-Identifier: BSD-3-Clause
#include "harness/judge/predicates/norm_rounding.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "harness/judge/facts/excuses.hpp"
#include "harness/judge/predicates/forms.hpp"

namespace plumbline::predicates {
namespace {

constexpr const char* embedding = "model.embed_tokens.weight";

/// Secondary names of tied weights: of each group all but the embedding's, or but the first one with a gradient.
std::set<std::string> other_names(const Record& record) {
  std::set<std::string> with_gradient, others;
  for (const RankRecord& rank : record.ranks) {
    for (const TensorRow& row : rank.tensors) {
      if (row.kind == "gradient") with_gradient.insert(row.name);
    }
  }
  for (const auto& names : record.manifest.tied) {
    const auto has = [&](const std::string& name) { return with_gradient.contains(name); };
    auto kept = std::ranges::find(names, embedding);
    if (kept == names.end() || !has(*kept)) kept = std::ranges::find_if(names, has);
    for (auto name = names.begin(); name != names.end(); ++name) {
      if (name != kept) others.insert(*name);
    }
  }
  return others;
}

/// Largest relative error of one rounding to `dtype`. float16 gradients are recorded, though no optimizer step in
/// float16 is recomputed.
double rounding_to(const std::string& dtype) {
  if (dtype == "float16") return 0x1p-11;
  return unit_roundoff(is_storage(dtype) ? storage_of(dtype) : Storage::float32);
}

}  // namespace

double norm_rounding(const NormTerms& terms) {
  // Roundings of a square count half in its root. The error of a blocked sum grows with the root of the number of
  // terms; the tensors' squares are added sequentially.
  const double accumulated = rounding_to(terms.dtype == "float64" ? "float64" : "float32");
  const double sums = (std::sqrt(terms.largest / 2) + terms.tensors / 2) * accumulated;
  const double of_tensor = 1 + 0.5, of_rank = 0.5, over_ranks = std::sqrt(terms.ranks - 1) / 2, in_all = 1;
  return sums + (of_tensor + of_rank + over_ranks + in_all) * rounding_to(terms.dtype);
}

bool summed_by_rank(const Manifest& manifest) {
  return manifest.norm_order == "per_rank" || (!manifest.conventions.exact_formulas && !manifest.clip_norm);
}

std::vector<GradientRow> gradients_once(const Record& record) {
  const std::set<std::string> again = other_names(record);
  std::vector<GradientRow> once;
  std::set<std::string> seen;
  for (const RankRecord& rank : record.ranks) {
    for (const TensorRow& row : rank.tensors) {
      if (row.kind != "gradient" || again.contains(row.name)) continue;
      if (seen.insert(row.name).second) once.push_back({rank.rank, &row});
    }
  }
  return once;
}

std::optional<NormByRows> norm_by_rows(const Record& record) {
  if (record.manifest.mesh && !record.manifest.mesh->parts.empty()) return std::nullopt;
  return norm_by_rows({&record});
}

std::optional<NormByRows> norm_by_rows(const std::vector<const Record*>& replicas) {
  // By name and part: a tensor that several places share counts once.
  std::map<std::pair<std::string, std::vector<std::int64_t>>, const TensorRow*> gradients;
  for (const Record* record : replicas) {
    if (!judging::recorded_throughout(*record, {"gradients"})) return std::nullopt;
    for (const GradientRow& gradient : gradients_once(*record)) {
      const auto& mesh = record->manifest.mesh;
      const std::string& name = gradient.row->name;
      gradients.emplace(std::pair(name, mesh ? mesh->part_at(mesh->replica, name) : std::vector<std::int64_t>()),
                        gradient.row);
    }
  }
  if (gradients.empty()) return std::nullopt;
  NormTerms terms;
  terms.tensors = static_cast<double>(gradients.size());
  terms.ranks = static_cast<double>(replicas.front()->manifest.world_size) * static_cast<double>(replicas.size());
  terms.dtype = gradients.begin()->second->dtype;
  long double squares = 0;
  for (const auto& [part, row] : gradients) {
    squares += static_cast<long double>(row->l2) * static_cast<long double>(row->l2);
    terms.largest = std::max(terms.largest, static_cast<double>(element_count(row->shape)));
    if (rounding_to(row->dtype) > rounding_to(terms.dtype)) terms.dtype = row->dtype;
  }
  return NormByRows{static_cast<double>(std::sqrt(squares)), norm_rounding(terms)};
}

}  // namespace plumbline::predicates
