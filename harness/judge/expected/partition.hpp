// SPDX-License-Identifier: BSD-3-Clause
// Assignment of units to stages and ranks, and the resulting stage boundaries, from the manifest alone.
#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "record/record.hpp"
#include "schedule/action.hpp"

namespace plumbline::judging {

/// A stage boundary, where an activation passes to the next stage, and its gradient back.
struct Crossing {
  std::int64_t from_stage = 0;  ///< in the forward direction; to_stage follows it
  std::int64_t to_stage = 0;
  std::int64_t from_rank = 0;
  std::int64_t to_rank = 0;
  std::string cut;  ///< the next unit downstream, after any empty stages

  bool local() const { return from_rank == to_rank; }
};

struct StageMap {
  std::vector<StageEntry> stages;  ///< the manifest's, in order
  std::vector<Crossing>
      crossings;  ///< in the model's order; none before the first unit or after the last, where no tensor is sent

  std::optional<std::int64_t> stage_of(const std::string& unit) const;
  const StageEntry* find(std::int64_t stage) const;
  std::vector<std::int64_t> stages_on(std::int64_t rank) const;
};

StageMap stage_map(const Manifest& manifest);

/// True for names like "layers.3".
bool is_layer(const std::string& unit);

// Expected traffic between ranks in one step, derived from the lowered list, the partition and the sizes of the
// microbatches.

/// One rank's view of an edge, as in traffic.csv.
struct TrafficEdge {
  std::int64_t peer = 0;
  std::string direction;  ///< forward | backward
  std::string side;       ///< send | receive
  friend auto operator<=>(const TrafficEdge&, const TrafficEdge&) = default;
};

struct Moved {
  std::int64_t operations = 0;
  std::int64_t bytes = 0;
  friend bool operator==(const Moved&, const Moved&) = default;
};

/// Payload messages of a rank's lowered list. `bytes`: of the boundary tensor, by microbatch. The exchange of tied
/// gradients is no message between stages and does not count. Throws InputError for a message to a stage that the map
/// lacks.
std::map<TrafficEdge, Moved> expected_traffic(const ActionList& lowered, const StageMap& stages,
                                              const std::vector<std::int64_t>& bytes);

}  // namespace plumbline::judging
