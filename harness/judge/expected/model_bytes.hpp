// SPDX-License-Identifier: BSD-3-Clause
// Bytes that follow from shapes and dtype alone: model state of a stage.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "harness/judge/expected/expected_model.hpp"
#include "record/record.hpp"

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

}  // namespace plumbline::judging
