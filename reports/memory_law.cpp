#include "reports/memory_law.hpp"

#include <algorithm>

#include "support/safetensors.hpp"

namespace plumbline {
namespace {

/// Live and largest bytes while a list is walked.
struct Meter {
  std::int64_t live = 0, peak = 0;
  void reach(std::int64_t beyond) { peak = std::max(peak, live + beyond); }
};

/// One unit's part in one action; false where a column that the action needs is absent.
bool pass(Meter& meter, ActionType type, const SavedRow& row) {
  switch (type) {
    case ActionType::forward:
      meter.reach(row.forward_bytes);
      meter.live += row.saved_bytes;
      return true;
    case ActionType::backward:
      meter.live -= row.saved_bytes;
      meter.reach(row.backward_bytes);
      return true;
    case ActionType::backward_input:
      if (!row.input_bytes || !row.retained_bytes) return false;
      meter.live -= row.saved_bytes;
      meter.reach(*row.input_bytes);
      meter.live += *row.retained_bytes;
      return true;
    case ActionType::backward_weight:
      if (!row.retained_bytes || !row.weight_bytes) return false;
      meter.live -= *row.retained_bytes;
      meter.reach(*row.weight_bytes);
      return true;
    default:
      return true;  // communication and the optimiser are no part of the law
  }
}

}  // namespace

MemoryLaw memory_law(const Record& reference) {
  MemoryLaw law;
  const auto hidden = reference.manifest.json.value("/model/hidden_size"_json_pointer, std::int64_t{0});
  const auto element = static_cast<std::int64_t>(dtype_size(reference.manifest.dtype));
  for (const auto& rank : reference.ranks) {
    for (const auto& row : rank.saved) law.saved.emplace(std::pair{row.unit, row.microbatch}, row);
    for (const auto& row : rank.microbatches) {
      law.boundary_bytes[row.microbatch] = row.batch * row.sequence_length * hidden * element;
    }
  }
  return law;
}

std::optional<std::int64_t> predicted_activation_peak(const MemoryLaw& law, const ActionList& list,
                                                      const std::map<std::int64_t, std::vector<std::string>>& units) {
  Meter meter;
  for (const auto& action : list) {
    if (!is_compute(action.type)) continue;
    const auto stage = units.find(action.stage);
    if (stage == units.end()) return std::nullopt;
    if (stage->second.empty()) {
      const auto boundary = law.boundary_bytes.find(action.microbatch);
      if (boundary == law.boundary_bytes.end()) return std::nullopt;
      meter.reach(boundary->second);
      continue;
    }
    std::vector<std::string> order = stage->second;
    if (action.type != ActionType::forward) std::reverse(order.begin(), order.end());
    for (const auto& unit : order) {
      const auto row = law.saved.find({unit, action.microbatch});
      if (row == law.saved.end() || !pass(meter, action.type, row->second)) return std::nullopt;
    }
  }
  return meter.peak;
}

}  // namespace plumbline
