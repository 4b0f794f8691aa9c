// SPDX-License-Identifier: BSD-3-Clause
// Bytes that follow from shapes and dtype alone: model state of a stage.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "harness/judge/expected/model.hpp"
#include "record/record.hpp"
#include "record/rows.hpp"
#include "schedule/action.hpp"

namespace plumbline::judging {

struct StateBytes {
  std::int64_t parameters = 0;
  std::int64_t gradients = 0;
  std::int64_t optimizer = 0;
  friend bool operator==(const StateBytes&, const StateBytes&) = default;
};

/// Model state of one stage with these units. A tied weight with both uses on one stage is one parameter with one
/// optimizer state, but two gradient accumulators (docs/exactness.md, 5). AdamW: two moments and a 4-byte step count
/// per parameter; SGD: a momentum buffer unless the momentum is 0. In mixed precision all of this is float32, and each
/// parameter has a bfloat16 copy. Nothing for an optimizer that the record format does not name. Frozen parameters have
/// only their value.
std::optional<StateBytes> state_bytes(const ExpectedModel& model, const std::vector<std::string>& units,
                                      const Manifest& manifest);

/// The range of bytes that correct trainers may keep; a single number for records of our own trainers.
struct StateRange {
  StateBytes least, most;
  bool optimizer_known = true;  ///< false: the record format does not define this optimizer's state

  StateRange& operator+=(const StateRange& other);
};

/// Model state of one stage, as state_bytes. For external records the range covers implementation choices: a tied
/// weight with both uses on the stage kept once or twice, with one gradient or two, and up to 8 bytes per parameter for
/// the optimizer's step count (torch.optim keeps 4, if it keeps it in a tensor at all).
StateRange state_range(const ExpectedModel& model, const std::vector<std::string>& units, const Manifest& manifest);

// The activation memory model of docs/record-format.md: predicts the activation peak of each action from the
// reference's saved.csv and a rank's list.

/// saved.csv by (microbatch, unit).
using SavedTable = std::map<std::pair<std::int64_t, std::string>, SavedRow>;

/// Peak bytes of each compute action of the list, in order; no activations are live before the first. An upper bound if
/// the table's columns of split backward are empty. `boundary_bytes`: of the boundary tensor, by microbatch. Throws
/// InputError naming the unit and microbatch that the table lacks.
std::vector<std::int64_t> predict_peaks(const ActionList& list, const StageMap& stages, const SavedTable& saved,
                                        const std::vector<std::int64_t>& boundary_bytes);

}  // namespace plumbline::judging
