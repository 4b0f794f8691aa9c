// SPDX-License-Identifier: BSD-3-Clause
// The columns: every quantity that two records are compared in. docs/checks.md lists them from this table.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

namespace plumbline::judging {

/// In the order of execution within a step.
enum class Column : std::uint8_t {
  ids,
  sizes,
  forward,
  loss,
  backward,
  step_loss,
  gradient,
  applied,
  updated,
  rate,
  rate_of_parameter,
  parameter,
  copy,
  moment1,
  moment2,
  buffer,
  evaluation,
};
inline constexpr std::size_t number_of_columns = static_cast<std::size_t>(Column::evaluation) + 1;

/// On which ranks of a candidate a fact must be.
enum class Occurs : std::uint8_t {
  placed,      ///< where the partition puts it, each place once
  one_rank,    ///< on one rank
  every_rank,  ///< on every rank
  any_rank,    ///< on one rank or several, with equal values
};

struct ColumnRules {
  Column column;
  std::string_view name;   ///< as printed: "gradient"
  std::string_view claim;  ///< the check that it belongs to
  std::string_view
      kind;  ///< of not_recorded (record/not_recorded.hpp), which excuses a missing fact; empty: nothing does
  std::string_view level;  ///< R1 ... R5, or the claim
  Occurs occurs;
  std::string_view counted;  ///< what a compared fact counts as: "tensors"
  std::string_view meaning;  ///< for docs/checks.md
};

const std::array<ColumnRules, number_of_columns>& columns();
const ColumnRules& rules_of(Column column);
/// True for gradients, parameters, moments, ...: rows of tensors.csv.
bool is_tensor(Column column);
/// Of a row of tensors.csv; nullopt for an unknown kind.
std::optional<Column> column_of_kind(std::string_view kind);

}  // namespace plumbline::judging
