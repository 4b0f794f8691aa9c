// SPDX-License-Identifier: BSD-3-Clause
#include <fmt/format.h>

#include <iterator>

#include "harness/judge/facts/fact.hpp"
#include "support/numbers.hpp"
#include "support/text.hpp"

namespace plumbline::judging {

const ColumnRules& rules_of(Column column) {
  using enum Occurs;
  // In the order of Column.
  static constexpr ColumnRules table[] = {
      {"ids", "data", "microbatches.csv: data_digest", "inputs", any_rank, "digests"},
      {"sizes", "data", "microbatches.csv: sequence_length, batch, tokens, valid_tokens", "inputs", any_rank, "sizes"},
      {"forward", "boundaries", "boundaries.csv: direction forward", "boundaries", placed, "tensors"},
      {"loss", "loss", "microbatches.csv: loss", "losses", one_rank, "microbatch_losses"},
      {"backward", "boundaries", "boundaries.csv: direction backward", "boundaries", placed, "tensors"},
      {"step_loss", "loss", "steps.csv: loss", "losses", one_rank, "step_losses"},
      {"gradient", "gradients", "tensors.csv: kind gradient", "gradients", placed, "tensors"},
      {"gradient_norm", "gradient_norm", "steps.csv: gradient_norm", "norm", every_rank, "norms"},
      {"clip_coefficient", "gradient_norm", "steps.csv: clip_coefficient", "norm", every_rank, "coefficients"},
      {"applied", "applied", "tensors.csv: kind applied", "applied", placed, "tensors"},
      {"updated", "parameters", "steps.csv: updated", "", any_rank, "updates"},
      {"rate", "parameters", "steps.csv: learning_rate", "rates", every_rank, "learning_rates"},
      {"rate_of_parameter", "parameters", "tensors.csv: learning_rate, where an optimizer has several", "rates",
       any_rank, "learning_rates"},
      {"parameter", "parameters", "tensors.csv: kind parameter", "parameters", placed, "tensors", true},
      {"copy", "parameters", "tensors.csv: kind copy", "", placed, "tensors", true},
      {"moment1", "parameters", "tensors.csv: kind moment1", "moments", placed, "tensors"},
      {"moment2", "parameters", "tensors.csv: kind moment2", "moments", placed, "tensors"},
      {"buffer", "buffers", "tensors.csv: kind buffer", "buffers", any_rank, "buffers", true},
      {"evaluation", "evaluation", "evaluation.csv", "", one_rank, "evaluation_losses"},
  };
  static_assert(std::size(table) == static_cast<std::size_t>(Column::evaluation) + 1);
  return table[static_cast<std::size_t>(column)];
}

const std::vector<Column>& all_columns() {
  static const std::vector<Column> all = [] {
    std::vector<Column> columns;
    for (int column = 0; column <= static_cast<int>(Column::evaluation); ++column)
      columns.push_back(static_cast<Column>(column));
    return columns;
  }();
  return all;
}

std::string_view to_words(Occurs occurs) {
  switch (occurs) {
    case Occurs::placed:
      return "its stage's";
    case Occurs::one_rank:
      return "one";
    case Occurs::every_rank:
      return "every";
    case Occurs::any_rank:
      return "any (equal)";
  }
  return "";
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

namespace {

struct ValueText {
  std::string operator()(std::monostate) const { return "absent"; }
  std::string operator()(const TensorRow* row) const { return form(*row) + row->digest; }
  std::string operator()(const BoundaryRow* row) const { return form(*row) + row->digest; }
  std::string operator()(const EvaluationRow* row) const {
    return fmt::format("{} of {} tokens, {} valid{}", to_text(row->loss), row->tokens, row->valid_tokens,
                       row->data_digest.empty() ? "" : ", data " + row->data_digest);
  }
  std::string operator()(const Sizes& sizes) const {
    return fmt::format("{}x{}, {} tokens, {} valid", sizes.batch, sizes.length, sizes.tokens, sizes.valid);
  }
  std::string operator()(std::string_view text) const { return std::string(text); }
  std::string operator()(float number) const { return to_text(number); }
  std::string operator()(double number) const { return to_text(number); }
  std::string operator()(bool flag) const { return flag ? "true" : "false"; }

 private:
  template <class Row>
  static std::string form(const Row& row) {
    return fmt::format("{} {} ", row.dtype, shape_text(row.shape));
  }
};

/// -1 is unknown, or none.
std::string cell(std::int64_t number) {
  return number < 0 ? "" : std::to_string(number);
}

}  // namespace

std::string text_of(const Value& value) {
  return std::visit(ValueText(), value);
}

std::string name_of(const Fact& fact) {
  std::string words(fact.column == Column::rate ? "learning_rate" : rules_of(fact.column).name);
  if (!fact.name.empty()) words += fmt::format(" {}", fact.name);
  if (!fact.place.side.empty()) words += fmt::format(" {}", fact.place.side);
  if (fact.microbatch >= 0) words += fmt::format(", microbatch {}", fact.microbatch);
  return words;
}

std::string fact_header() {
  return "step,column,microbatch,name,rank,stage,side,value\n";
}

std::string csv_of(std::int64_t step, const Fact& fact) {
  return fmt::format("{},{},{},{},{},{},{},\"{}\"\n", step, rules_of(fact.column).name, cell(fact.microbatch),
                     fact.name, cell(fact.place.rank), cell(fact.place.stage), fact.place.side, text_of(fact.value));
}

}  // namespace plumbline::judging
