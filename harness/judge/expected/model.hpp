// SPDX-License-Identifier: BSD-3-Clause
// What a manifest implies: units and parameters of the model, stages and ranks of the units, stage boundaries,
// messages, and bytes of model state and activations. The harness shares no code with the trainers, so it does not
// repeat their errors.
#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "record/manifest.hpp"
#include "record/record.hpp"
#include "record/rows.hpp"
#include "schedule/action.hpp"
#include "support/elements.hpp"
#include "support/json.hpp"

namespace plumbline::judging {

struct ExpectedParameter {
  std::string name;  ///< Hugging Face name
  std::string unit;
  Shape shape;
  std::string dtype = {};  ///< empty: the manifest's
};

struct ExpectedModel {
  /// Sizes of a Llama with Hugging Face's names; 0 if only units and parameters are known.
  std::int64_t vocabulary = 0, hidden = 0, intermediate = 0, layers = 0, heads = 0, kv_heads = 0, head_dim = 0;
  bool tied = false, attention_bias = false, mlp_bias = false;
  bool pad_token = false;          ///< pad_token_id is set: its row of the embedding gets no gradient as an input
  std::vector<std::string> units;  ///< embed_tokens, layers.0 ..., norm, lm_head
  std::vector<ExpectedParameter> parameters;  ///< in canonical order; includes lm_head.weight, also if tied

  bool has_sizes() const { return hidden > 0; }
  std::optional<std::int64_t> unit_position(const std::string& unit) const;
  std::optional<std::int64_t> parameter_position(const std::string& name) const;
};

/// Derives the model from the manifest's `model`, the keys of a Hugging Face config.json with transformers' defaults.
/// Throws InputError naming the key.
ExpectedModel expected_model(const Json& config);

/// True if the manifest states that the parameter has no gradient.
bool is_frozen(const Manifest& manifest, const std::string& parameter);

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

struct RequestedPartition {
  std::string rule = "uniform";       ///< uniform | cost; ignored if there is a balance
  std::vector<std::int64_t> balance;  ///< layers of each stage
};

/// Units of each of `stages` stages in the model's order.
/// `rows`: the padded length in tokens of every row of one step, used only by `cost`.
/// * uniform: L layers over S stages, the first L mod S stages one more; with S > L one layer each on stages 1, 2, ...
///   so that the first holds the embedding alone.
/// * cost: minimizes the FLOPs of the largest stage over the number of layers next to the head, the largest among
///   equals; the other stages share the rest as in uniform. FLOPs of a layer: 2 per weight and token, and of its
///   attention 2 S^2 (heads x head size) for each row of S; of the head: 2 H V + 4 H + 5 V per token.
///
/// Throws InputError for a balance that does not have one number per stage or does not add up to the layers.
std::vector<std::vector<std::string>> requested_partition(const ExpectedModel& model,
                                                          const RequestedPartition& requested, std::int64_t stages,
                                                          const std::vector<std::int64_t>& rows);

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

class ZeroDigests {
 public:
  /// Cached per dtype and shape; no digest for shapes above 64 GiB.
  const std::string& digest(const std::string& dtype, const Shape& shape);

 private:
  std::map<std::pair<std::string, Shape>, std::string> known_;
};

}  // namespace plumbline::judging
