// SPDX-License-Identifier: BSD-3-Clause
#include "harness/judge/facts/columns.hpp"

#include <iterator>

namespace plumbline::judging {

const ColumnRules& rules_of(Column column) {
  using enum Occurs;
  // In the order of Column.
  static constexpr ColumnRules table[] = {
      {"ids", "inputs", any_rank, "digests"},
      {"sizes", "inputs", any_rank, "sizes"},
      {"forward", "boundaries", placed, "tensors"},
      {"loss", "losses", one_rank, "microbatch_losses"},
      {"backward", "boundaries", placed, "tensors"},
      {"step_loss", "losses", one_rank, "step_losses"},
      {"gradient", "gradients", placed, "tensors"},
      {"gradient_norm", "norm", every_rank, "norms"},
      {"clip_coefficient", "norm", every_rank, "coefficients"},
      {"applied", "applied", placed, "tensors"},
      {"updated", "", any_rank, "updates"},
      {"rate", "rates", every_rank, "learning_rates"},
      {"rate_of_parameter", "rates", any_rank, "learning_rates"},
      {"parameter", "parameters", placed, "tensors"},
      {"copy", "", placed, "tensors"},
      {"moment1", "moments", placed, "tensors"},
      {"moment2", "moments", placed, "tensors"},
      {"buffer", "buffers", any_rank, "buffers"},
      {"evaluation", "", one_rank, "evaluation_losses"},
  };
  static_assert(std::size(table) == static_cast<std::size_t>(Column::evaluation) + 1);
  return table[static_cast<std::size_t>(column)];
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
