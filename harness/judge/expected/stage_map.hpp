// SPDX-License-Identifier: BSD-3-Clause
// Assignment of units to stages and ranks, and the resulting stage boundaries, from the manifest alone.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "record/record.hpp"

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

}  // namespace plumbline::judging
