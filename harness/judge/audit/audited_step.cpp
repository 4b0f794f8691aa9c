// SPDX-License-Identifier: BSD-3-Clause
#include "harness/judge/audit/audited_step.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "record/rank_folder.hpp"

namespace plumbline::auditing {

AuditedStep::AuditedStep(const Record& record, std::int64_t step, const std::vector<RankRecord>& before,
                         const std::vector<RowsBefore>& rows_before)
    : record_(record), step_(step), before_(before) {
  const auto place = [](std::int64_t rank, const auto& rows, std::size_t index, auto& placed) {
    for (const auto& row : rows) placed.push_back({rank, index++, &row});
  };
  // No number follows from a buffer, nor from the gradients of a step that no optimizer made.
  const bool skipped = any_updated(record.ranks) == false;
  const auto without_effect = [&](const TensorPlace& tensor) {
    return tensor.row->kind == "buffer" || (skipped && tensor.row->kind == "gradient");
  };
  for (const RankRecord& rank : record.ranks) {
    const RowsBefore& earlier = rows_before[static_cast<std::size_t>(rank.rank)];
    place(rank.rank, rank.tensors, earlier.tensors, tensors_);
    place(rank.rank, rank.boundaries, earlier.boundaries, boundaries_);
    place(rank.rank, rank.microbatches, earlier.microbatches, microbatches_);
    place(rank.rank, rank.steps, earlier.steps, steps_);
    place(rank.rank, rank.evaluation, earlier.evaluation, evaluation_);
  }
  std::erase_if(tensors_, without_effect);
  for (const auto& [rank, index, row] : tensors_) by_key_.emplace(Key{rank, row->stage, row->kind, row->name}, row);
  for (const RankRecord& rank : before) {
    for (const TensorRow& row : rank.tensors)
      before_by_key_.emplace(Key{rank.rank, row.stage, row.kind, row.name}, &row);
  }
}

const TensorRow* AuditedStep::find(const Rows& rows, const std::string& kind, const TensorPlace& like) {
  const auto found = rows.find({like.rank, like.row->stage, kind, like.row->name});
  return found == rows.end() ? nullptr : found->second;
}

std::string table_line(std::int64_t rank, const std::string& file, std::size_t row) {
  return fmt::format("{}/{}:{}", rank_folder(rank), file, row + 2);
}

Finding at_tensor(const TensorPlace& place, const std::string& item, const std::string& expected,
                  const std::string& got, const std::string& why, const std::string& source) {
  const TensorRow& row = *place.row;
  return {.level = row.kind == "gradient" ? part::gradient : part::parameter,
          .step = row.step,
          .stage = row.stage,
          .rank = place.rank,
          .source = source.empty() ? table_line(place.rank, "tensors.csv", place.index) : source,
          .item = item,
          .expected = expected,
          .got = got,
          .why = why};
}

}  // namespace plumbline::auditing
