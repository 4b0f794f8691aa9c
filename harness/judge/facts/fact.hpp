// SPDX-License-Identifier: BSD-3-Clause
// A fact: one value that a record states of a step, or that must be there. Records, partition and a candidate's own
// other end all give facts of this type, so that comparing is one thing (harness/judge/diff/). The table of columns in
// columns.cpp is printed in docs/checks.md.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <variant>
#include <vector>

#include "record/record.hpp"
#include "record/rows.hpp"

namespace plumbline::judging {

/// In the order of execution within a step.
enum class Column : std::uint8_t {
  ids,       ///< ids and labels of a microbatch
  sizes,     ///< rows, length, tokens and labels of a microbatch
  forward,   ///< the activation at a stage boundary, at both ends
  loss,      ///< of a microbatch
  backward,  ///< the gradient at a stage boundary, at both ends
  step_loss,
  gradient,           ///< of a parameter, summed over the step, before clipping
  norm,               ///< of the gradients, before clipping
  coefficient,        ///< that the gradients were multiplied by
  applied,            ///< the gradient that the optimizer received
  updated,            ///< whether an optimizer stepped
  rate,               ///< the learning rate
  rate_of_parameter,  ///< where an optimizer has several
  parameter,          ///< at the start and after the step
  copy,               ///< in mixed precision, a parameter's copy for computation
  moment1,            ///< or momentum
  moment2,
  buffer,      ///< persistent, at the start and after the step
  evaluation,  ///< tokens, data and loss of a microbatch of an evaluation, and of all
};

/// On which ranks of a candidate a fact must be.
enum class Occurs : std::uint8_t {
  placed,      ///< where the partition puts it, each place once
  one_rank,    ///< on one rank
  every_rank,  ///< on every rank
  any_rank,    ///< on one rank or several, with equal values
};

struct ColumnRules {
  std::string_view name;   ///< as printed: "gradient"
  std::string_view claim;  ///< that it is a part of: the name of a check
  std::string_view rows;   ///< whose cells hold the value, in words
  std::string_view kind;   ///< of not_recorded (record/not_recorded.hpp), which excuses a missing fact; may be empty
  Occurs occurs;
  std::string_view counted;  ///< what a compared fact counts as: "tensors"
  bool at_start = false;     ///< the start (step -1) has it, too
};

const ColumnRules& rules_of(Column column);
/// In the order of execution.
const std::vector<Column>& all_columns();
/// "on one rank".
std::string_view to_words(Occurs occurs);
/// True for gradients, parameters, moments, ...: rows of tensors.csv.
bool is_tensor(Column column);
/// The column of a kind in tensors.csv; nullopt for an unknown kind.
std::optional<Column> column_of_kind(std::string_view kind);

/// Where a fact was recorded. Only boundary tensors have `side`, `to_stage` and `peer`.
struct Place {
  std::int64_t rank = -1, stage = -1;
  std::string_view side = {};
  std::int64_t to_stage = -1, peer = -1;

  friend auto operator<=>(const Place&, const Place&) = default;
};

/// How much data a microbatch has.
struct Sizes {
  std::int64_t length = 0, batch = 0, tokens = 0, valid = 0;
  friend bool operator==(const Sizes&, const Sizes&) = default;
};

/// monostate: the source should state a value, and does not.
using Value = std::variant<std::monostate, const TensorRow*, const BoundaryRow*, const EvaluationRow*, Sizes,
                           std::string_view, float, double, bool>;

/// Points into the rows of the current step, and is valid as long as these are.
struct Fact {
  Column column = Column::ids;
  std::int64_t microbatch = -1;  ///< -1: of the whole step
  std::string_view name = {};    ///< of a parameter or buffer, or the unit behind a stage boundary; else empty
  Place place = {};
  Value value = {};

  /// Facts of one key are the same quantity, wherever they were recorded.
  auto key() const { return std::tuple(column, microbatch, name); }
};
using Facts = std::vector<Fact>;
using FactSpan = std::span<const Fact>;

// Facts as text, for messages and for `plumbline record show --facts`.

/// A digest, or the shortest text that reads back to the same bits: equal texts are equal values.
std::string text_of(const Value& value);

/// "gradient model.norm.weight", "forward layers.1 send, microbatch 3", "loss, microbatch 3", "learning_rate".
std::string name_of(const Fact& fact);

/// A line of CSV with the columns of fact_header().
std::string csv_of(std::int64_t step, const Fact& fact);
std::string fact_header();

/// True if the record's recorder could not see facts of this kind in the step. `kind`: see ColumnRules.
inline bool excused(const Record& record, std::string_view kind, std::int64_t step) {
  for (const NotRecorded& entry : record.manifest.not_recorded)
    if (entry.what == kind && step >= entry.from_step.value_or(step)) return true;
  return false;
}

/// True if the record may lack such values without a reason (record/record.hpp).
inline bool is_optional(const Record& record, const std::string& kind) {
  return record.manifest.conventions.optional.contains(kind);
}

/// True if no recorder states that it could not see the kinds in some step.
inline bool recorded_throughout(const Record& record, const std::vector<std::string>& kinds) {
  return !lists_any(record.manifest.not_recorded, kinds);
}

/// excused() for an end of a stage boundary: send | receive | local | computed.
inline bool excused_end(const Record& record, std::string_view side, std::int64_t step) {
  if (excused(record, "boundaries", step)) return true;
  return side != "computed" && excused(record, side == "send" ? "sends" : "receives", step);
}

/// Sorted by key, then by place. A loss that an external trainer sends to all ranks is one fact, of the last rank with
/// it.
Facts recorded_facts(const Record& record);

/// The facts of both records in a step.
struct StepFacts {
  Facts reference, candidate;
};

/// The facts of one key, or of one column; empty if there are none. `facts`: sorted by key.
FactSpan with_key(const Facts& facts, const Fact& like);
FactSpan of_column(const Facts& facts, Column column);

}  // namespace plumbline::judging
