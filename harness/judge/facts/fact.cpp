// SPDX-License-Identifier: BSD-3-Clause
#include "harness/judge/facts/fact.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

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

namespace {

class Collector {
 public:
  explicit Collector(const Record& record) : once_(record.manifest.external()) {}

  void add(const RankRecord& rank) {
    rank_ = rank.rank;
    for (const MicrobatchRow& row : rank.microbatches) {
      if (!row.data_digest.empty()) add(Column::ids, row.microbatch, std::string_view(row.data_digest));
      add(Column::sizes, row.microbatch, Sizes{row.sequence_length, row.batch, row.tokens, row.valid_tokens});
      if (row.loss) loss(Column::loss, row.microbatch, *row.loss);
    }
    for (const BoundaryRow& row : rank.boundaries) {
      facts_.push_back(
          {row.direction == "forward" ? Column::forward : Column::backward,
           row.microbatch,
           row.cut,
           {rank_, row.from_stage.value_or(-1), row.side, row.to_stage.value_or(-1), row.peer.value_or(-1)},
           &row});
    }
    for (const StepRow& row : rank.steps) {
      if (row.loss) loss(Column::step_loss, -1, *row.loss);
      if (row.gradient_norm) add(Column::norm, -1, *row.gradient_norm);
      if (row.clip_coefficient) add(Column::coefficient, -1, *row.clip_coefficient);
      if (row.updated) add(Column::updated, -1, *row.updated);
      if (row.learning_rate) add(Column::rate, -1, *row.learning_rate);
    }
    for (const TensorRow& row : rank.tensors) {
      const auto column = column_of_kind(row.kind);
      if (column) facts_.push_back({*column, -1, row.name, {rank_, row.stage}, &row});
      if (column == Column::parameter && row.learning_rate)
        facts_.push_back({Column::rate_of_parameter, -1, row.name, {rank_, row.stage}, *row.learning_rate});
    }
    for (const EvaluationRow& row : rank.evaluation) add(Column::evaluation, row.microbatch.value_or(-1), &row);
  }

  Facts take() {
    std::ranges::stable_sort(facts_, {}, &Fact::key);
    return std::move(facts_);
  }

 private:
  void add(Column column, std::int64_t microbatch, Value value) {
    facts_.push_back({column, microbatch, {}, {.rank = rank_}, value});
  }

  void loss(Column column, std::int64_t microbatch, float value) {
    const auto [last, first] = losses_.try_emplace({column, microbatch}, facts_.size());
    if (!first && once_ && same_bits(std::get<float>(facts_[last->second].value), value)) {
      facts_[last->second].place.rank = rank_;
      return;
    }
    last->second = facts_.size();
    add(column, microbatch, value);
  }

  bool once_;  ///< equal losses of several ranks are one fact
  std::int64_t rank_ = 0;
  Facts facts_;
  std::map<std::pair<Column, std::int64_t>, std::size_t> losses_;  ///< the last fact of each
};

}  // namespace

Facts recorded_facts(const Record& record) {
  Collector collector(record);
  for (const RankRecord& rank : record.ranks) collector.add(rank);
  return collector.take();
}

FactSpan with_key(const Facts& facts, const Fact& like) {
  return std::ranges::equal_range(facts, like.key(), {}, &Fact::key);
}

FactSpan of_column(const Facts& facts, Column column) {
  return std::ranges::equal_range(facts, column, {}, &Fact::column);
}

}  // namespace plumbline::judging
