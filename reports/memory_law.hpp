// The memory law of docs/record-format.md, for the curve that the memory plot draws beside what was measured. It judges
// nothing.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "record/record.hpp"
#include "schedule/action.hpp"

namespace plumbline {

/// What the law needs besides a rank's list.
struct MemoryLaw {
  std::map<std::pair<std::string, std::int64_t>, SavedRow> saved;  ///< by (unit, microbatch), from the reference
  std::map<std::int64_t, std::int64_t> boundary_bytes;  ///< by microbatch: batch x sequence x hidden x element
};

/// From a reference's record: its saved.csv, and from its microbatches.csv the size of the tensor that crosses a cut.
MemoryLaw memory_law(const Record& reference);

/// The largest activation bytes over a rank's compute-only list. `units` holds the units of each of its stages, empty
/// for a stage that only relays. Nothing when the law lacks a unit, a microbatch or a column that the list asks for.
std::optional<std::int64_t> predicted_activation_peak(const MemoryLaw& law, const ActionList& list,
                                                      const std::map<std::int64_t, std::vector<std::string>>& units);

}  // namespace plumbline
