// SPDX-License-Identifier: BSD-3-Clause
#include "record/required_tables.hpp"

#include <algorithm>
#include <stdexcept>

namespace plumbline {
namespace {

bool has_units(const StageEntry& stage) {
  return !stage.units.empty();
}

/// True if `matches(stage, next stage)` for a pair of stages that exchange boundary tensors, also across empty stages
/// in between.
template <typename Matches>
bool any_boundary(const Manifest& manifest, Matches matches) {
  const auto& stages = manifest.stages;
  const auto first = std::ranges::find_if(stages, has_units);
  const auto last = std::find_if(stages.rbegin(), stages.rend(), has_units).base();
  return first != stages.end() && std::adjacent_find(first, last, [&](const StageEntry& from, const StageEntry& to) {
                                    return matches(from.rank, to.rank);
                                  }) != last;
}

bool has_boundary(const Manifest& manifest, std::int64_t rank) {
  if (lists_any(manifest.not_recorded, {"sends", "receives", "boundaries"}))
    return false;                                                       // the recorder may have missed them
  if (manifest.role == "reference") return owns_units(manifest, rank);  // it records all its inner stage boundaries
  return any_boundary(manifest, [&](std::int64_t from, std::int64_t to) { return from == rank || to == rank; });
}

bool has_tensors(const Manifest& manifest, std::int64_t rank) {
  return owns_units(manifest, rank) &&
         !(lists_any(manifest.not_recorded, {"parameters"}) && lists_any(manifest.not_recorded, {"gradients"}));
}

bool has_peer(const Manifest& manifest, std::int64_t rank) {
  return any_boundary(manifest,
                      [&](std::int64_t from, std::int64_t to) { return from != to && (from == rank || to == rank); });
}

bool owns_loss(const Manifest& manifest, std::int64_t rank) {
  const auto last = std::find_if(manifest.stages.rbegin(), manifest.stages.rend(), has_units);
  return last != manifest.stages.rend() && last->rank == rank;
}

Demand rows_if(bool owns) {
  return owns ? Demand::rows : Demand::header;
}

}  // namespace

bool owns_units(const Manifest& manifest, std::int64_t rank) {
  return std::ranges::any_of(manifest.stages, [&](const StageEntry& s) { return s.rank == rank && has_units(s); });
}

bool demands_schedule(const Manifest& manifest) {
  return manifest.level != RecordLevel::none && !manifest.external();
}

Demand demand_of(const std::string& file, const Manifest& manifest, std::int64_t rank) {
  const bool tensors = manifest.level == RecordLevel::full || manifest.level == RecordLevel::dump;
  if (manifest.level == RecordLevel::none) return Demand::none;
  if (file == "steps.csv" || file == "microbatches.csv" || file == "memory.csv") return Demand::rows;
  if (file == "actions.csv")
    return rows_if(!manifest.external() && std::ranges::count(manifest.stages, rank, &StageEntry::rank) > 0);
  if (file == "traffic.csv") return manifest.external() ? Demand::none : rows_if(has_peer(manifest, rank));
  if (file == "norms.csv") return Demand::none;
  // Optional here: only the memory check needs it, and reports its absence.
  if (file == "gpu_memory.csv") return Demand::none;
  if (file == "evaluation.csv") return manifest.evaluation && owns_loss(manifest, rank) ? Demand::rows : Demand::none;
  if (file == "saved.csv") return manifest.role == "reference" ? Demand::rows : Demand::none;
  if (file == "tensors.csv") return tensors ? rows_if(has_tensors(manifest, rank)) : Demand::none;
  if (file == "boundaries.csv") return tensors ? rows_if(has_boundary(manifest, rank)) : Demand::none;
  throw std::logic_error("no such table: " + file);
}

}  // namespace plumbline
