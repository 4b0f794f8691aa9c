// Bytes that follow from shapes and dtype alone: model state of a stage, and what a unit keeps for backward.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "harness/expected_model.hpp"
#include "record/record.hpp"

namespace plumbline::judging {

struct StateBytes {
  std::int64_t parameters = 0;
  std::int64_t gradients = 0;
  std::int64_t optimizer = 0;
  friend bool operator==(const StateBytes&, const StateBytes&) = default;
};

/// Of one stage that holds these units. A tied weight whose two uses lie on one stage is one parameter with one
/// optimiser state, but two gradient accumulators (docs/exactness.md, 5). AdamW: two moments and a 4-byte step count
/// per parameter; SGD: a momentum buffer unless the momentum is 0. Nothing for an optimiser that the record format does
/// not name. Frozen parameters have value only.
std::optional<StateBytes> state_bytes(const ExpectedModel& model, const std::vector<std::string>& units,
                                      const Manifest& manifest);

/// What the second copy of a tied weight adds to the sum over all ranks when its uses lie on two stages:
/// V H s to the parameters, nothing to the gradients, 2 V H s + 4 (AdamW) or V H s (momentum) to the optimiser; s =
/// bytes of the dtype.
std::optional<StateBytes> tied_copy_bytes(const ExpectedModel& model, const Manifest& manifest);

/// Closed form of saved_bytes for N tokens, with V vocabulary, H hidden, A = heads x head size, K = kv heads x head
/// size, I intermediate, h heads, s bytes of the dtype, w bytes of what norms, softmax and loss are computed in (4 for
/// the 2-byte dtypes, else s). embedding 0; norm N(wH + w + sH): its input and 1/rms in w, the normed input in s; layer
/// 2N(wH + w + sH) + sN(2H + 2A + 2K + 4I) + wNh: both norms, whose outputs feed the linear layers (2H), attention's q
/// and output (2A), k, v (2K) and row sums (h), the MLP's gate, silu, up and product (4I); lm_head with loss
/// sNH + wNV + w. In float32 that is 4N(6H + 2A + 2K + 4I + h + 2), 4N(2H + 1), 4N(V + H) + 4. Biases are saved
/// nowhere. Nothing for an unknown unit.
std::optional<std::int64_t> saved_bytes(const ExpectedModel& model, const std::string& unit, std::int64_t tokens,
                                        const std::string& dtype);

}  // namespace plumbline::judging
