// SPDX-License-Identifier: BSD-3-Clause
#include "record/required_tables.hpp"

#include <algorithm>
#include <stdexcept>

namespace plumbline {
namespace {

bool has_stage(const Manifest& manifest, std::int64_t rank) {
  return std::any_of(manifest.stages.begin(), manifest.stages.end(),
                     [&](const StageEntry& s) { return s.rank == rank; });
}

/// Calls `visit(stage, next stage)` for each pair of stages with units that exchange boundary tensors, also across
/// empty stages in between.
template <typename Visit>
void for_each_boundary(const Manifest& manifest, Visit visit) {
  const auto& stages = manifest.stages;
  const auto has_units = [](const StageEntry& stage) { return !stage.units.empty(); };
  const auto first = std::find_if(stages.begin(), stages.end(), has_units);
  const auto last = std::find_if(stages.rbegin(), stages.rend(), has_units);
  if (first == stages.end()) return;
  for (auto stage = first; stage + 1 < last.base(); ++stage) visit(*stage, *(stage + 1));
}

bool has_boundary(const Manifest& manifest, std::int64_t rank) {
  if (!manifest.recorded({"sends", "receives", "boundaries"})) return false;  // the recorder may have missed them
  if (manifest.role == "reference") return owns_units(manifest, rank);  // it records all its inner stage boundaries
  bool found = false;
  for_each_boundary(manifest, [&](const StageEntry& from, const StageEntry& to) {
    found = found || from.rank == rank || to.rank == rank;
  });
  return found;
}

bool has_peer(const Manifest& manifest, std::int64_t rank) {
  bool found = false;
  for_each_boundary(manifest, [&](const StageEntry& from, const StageEntry& to) {
    found = found || (from.rank != to.rank && (from.rank == rank || to.rank == rank));
  });
  return found;
}

/// True if the rank owns the last unit.
bool owns_loss(const Manifest& manifest, std::int64_t rank) {
  const auto last = std::find_if(manifest.stages.rbegin(), manifest.stages.rend(),
                                 [](const StageEntry& stage) { return !stage.units.empty(); });
  return last != manifest.stages.rend() && last->rank == rank;
}

Demand rows_if(bool owns) {
  return owns ? Demand::rows : Demand::header;
}

}  // namespace

bool owns_units(const Manifest& manifest, std::int64_t rank) {
  return std::any_of(manifest.stages.begin(), manifest.stages.end(),
                     [&](const StageEntry& s) { return s.rank == rank && !s.units.empty(); });
}

bool demands_schedule(const Manifest& manifest) {
  return manifest.level != RecordLevel::none && !manifest.traits.may_lack;
}

Demand demand_of(const std::string& file, const Manifest& manifest, std::int64_t rank) {
  const bool tensors = manifest.level == RecordLevel::full || manifest.level == RecordLevel::dump;
  if (manifest.level == RecordLevel::none) return Demand::none;
  if (file == "steps.csv" || file == "microbatches.csv" || file == "memory.csv") return Demand::rows;
  if (file == "actions.csv") return rows_if(!manifest.traits.may_lack && has_stage(manifest, rank));
  if (file == "traffic.csv") return manifest.traits.may_lack ? Demand::none : rows_if(has_peer(manifest, rank));
  // Optional here: only the memory check needs it, and reports its absence.
  if (file == "gpu_memory.csv") return Demand::none;
  if (file == "evaluation.csv") return manifest.evaluation && owns_loss(manifest, rank) ? Demand::rows : Demand::none;
  if (file == "saved.csv") return manifest.role == "reference" ? Demand::rows : Demand::none;
  if (file == "tensors.csv") return tensors ? rows_if(owns_units(manifest, rank)) : Demand::none;
  if (file == "boundaries.csv") return tensors ? rows_if(has_boundary(manifest, rank)) : Demand::none;
  throw std::logic_error("no such table: " + file);
}

}  // namespace plumbline
