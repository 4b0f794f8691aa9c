// SPDX-License-Identifier: BSD-3-Clause
#include "harness/judge/facts/fact.hpp"

#include <fmt/format.h>

#include "support/numbers.hpp"
#include "support/text.hpp"

namespace plumbline::judging {
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
