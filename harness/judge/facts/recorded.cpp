// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <map>
#include <utility>

#include "harness/judge/facts/fact.hpp"

namespace plumbline::judging {
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
