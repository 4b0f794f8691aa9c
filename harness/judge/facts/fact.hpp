// SPDX-License-Identifier: BSD-3-Clause
// A fact: one value that a record states of a step, or that must be there. Records, partition and a candidate's own
// other end all give facts of this type, so that comparing is one thing (harness/judge/diff/).
#pragma once

#include <compare>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <variant>
#include <vector>

#include "harness/judge/facts/columns.hpp"
#include "record/rows.hpp"

namespace plumbline::judging {

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

}  // namespace plumbline::judging
