// SPDX-License-Identifier: BSD-3-Clause
// Which stage holds which units on which rank, and what must therefore cross between stages: from the manifest alone.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "record/record.hpp"

namespace plumbline::judging {

/// A place where an activation passes from one stage to the next (and its gradient back).
struct Crossing {
  std::int64_t from_stage = 0;  ///< in the forward direction; to_stage is the one after it
  std::int64_t to_stage = 0;
  std::int64_t from_rank = 0;
  std::int64_t to_rank = 0;
  std::string cut;  ///< the next unit downstream, behind any empty stages

  bool local() const { return from_rank == to_rank; }
};

struct StageMap {
  std::vector<StageEntry> stages;  ///< the manifest's, which stand in their order
  std::vector<Crossing>
      crossings;  ///< along the model. None before the first unit nor behind the last: nothing is handed on there

  std::optional<std::int64_t> stage_of(const std::string& unit) const;
  const StageEntry* find(std::int64_t stage) const;
  std::vector<std::int64_t> stages_on(std::int64_t rank) const;
};

StageMap stage_map(const Manifest& manifest);

/// "layers.3" and the like.
bool is_layer(const std::string& unit);

/// Whether the stage holds no layer; where a model names no unit so, whether it holds nothing.
bool holds_no_layer(const StageEntry& stage, const std::vector<StageEntry>& all);

}  // namespace plumbline::judging
