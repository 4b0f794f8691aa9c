// SPDX-License-Identifier: BSD-3-Clause
#include "harness/judge/facts/columns.hpp"

#include <algorithm>

namespace plumbline::judging {

const std::array<ColumnRules, number_of_columns>& columns() {
  using enum Column;
  using enum Occurs;
  static const std::array<ColumnRules, number_of_columns> table = {{
      {ids, "ids", "data", "inputs", "data", any_rank, "digests", "ids and labels of a microbatch"},
      {sizes, "sizes", "data", "inputs", "data", any_rank, "sizes", "rows, length, tokens and labels of a microbatch"},
      {forward, "forward", "boundaries", "boundaries", "R2", placed, "tensors",
       "the activation at a stage boundary, at both ends"},
      {loss, "loss", "loss", "losses", "R1", one_rank, "microbatch_losses", "the loss of a microbatch"},
      {backward, "backward", "boundaries", "boundaries", "R2", placed, "tensors",
       "the gradient at a stage boundary, at both ends"},
      {step_loss, "step_loss", "loss", "losses", "R1", one_rank, "step_losses", "the loss of the step"},
      {gradient, "gradient", "gradients", "gradients", "R3", placed, "tensors",
       "the gradient of a parameter, summed over the step, before clipping"},
      {applied, "applied", "applied", "applied", "R4", placed, "tensors", "the gradient that the optimizer received"},
      {updated, "updated", "parameters", "", "R5", any_rank, "updates", "whether an optimizer stepped"},
      {rate, "rate", "parameters", "rates", "R5", every_rank, "learning_rates", "the learning rate"},
      {rate_of_parameter, "rate_of_parameter", "parameters", "rates", "R5", any_rank, "learning_rates",
       "the learning rate of a parameter, where an optimizer has several"},
      {parameter, "parameter", "parameters", "parameters", "R5", placed, "tensors",
       "a parameter, at the start and after the step"},
      {copy, "copy", "parameters", "", "R5", placed, "tensors", "in mixed precision, its copy for computation"},
      {moment1, "moment1", "parameters", "moments", "R5", placed, "tensors", "its first moment, or its momentum"},
      {moment2, "moment2", "parameters", "moments", "R5", placed, "tensors", "its second moment"},
      {buffer, "buffer", "buffers", "buffers", "R5", any_rank, "buffers",
       "a persistent buffer, at the start and after the step"},
      {evaluation, "evaluation", "evaluation", "", "R1", one_rank, "evaluation_losses",
       "tokens, data and loss of a microbatch of an evaluation, and of all"},
  }};
  return table;
}

const ColumnRules& rules_of(Column column) {
  return columns().at(static_cast<std::size_t>(column));
}

bool is_tensor(Column column) {
  return column_of_kind(rules_of(column).name).has_value();
}

std::optional<Column> column_of_kind(std::string_view kind) {
  for (const Column column : {Column::gradient, Column::applied, Column::parameter, Column::copy, Column::moment1,
                              Column::moment2, Column::buffer})
    if (rules_of(column).name == kind) return column;
  return std::nullopt;
}

}  // namespace plumbline::judging
