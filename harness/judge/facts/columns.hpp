// SPDX-License-Identifier: BSD-3-Clause
// The columns: every quantity that two records are compared in. The table in columns.cpp is printed in docs/checks.md.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

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

}  // namespace plumbline::judging
