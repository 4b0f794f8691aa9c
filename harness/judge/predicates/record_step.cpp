// SPDX-License-Identifier: BSD-3-Clause
#include "harness/judge/predicates/record_step.hpp"

#include <fmt/format.h>

#include "record/rank_folder.hpp"

namespace plumbline::predicates {

RecordStep::RecordStep(const Record& record, std::int64_t step, const std::vector<RowsBefore>& rows_before)
    : record_(record), step_(step) {
  const auto place = [](std::int64_t rank, const auto& rows, std::size_t index, auto& placed) {
    for (const auto& row : rows) placed.push_back({rank, index++, &row});
  };
  for (const RankRecord& rank : record.ranks) {
    const RowsBefore& earlier = rows_before[static_cast<std::size_t>(rank.rank)];
    place(rank.rank, rank.tensors, earlier.tensors, tensors_);
    place(rank.rank, rank.boundaries, earlier.boundaries, boundaries_);
    place(rank.rank, rank.microbatches, earlier.microbatches, microbatches_);
    place(rank.rank, rank.steps, earlier.steps, steps_);
    place(rank.rank, rank.evaluation, earlier.evaluation, evaluation_);
  }
  // No number follows from a buffer, nor from the gradients of a step that no optimizer made.
  const bool skipped = any_updated(record.ranks) == false;
  std::erase_if(tensors_, [&](const auto& tensor) {
    return tensor.row->kind == "buffer" || (skipped && tensor.row->kind == "gradient");
  });
}

std::string table_line(std::int64_t rank, const std::string& file, std::size_t row) {
  return fmt::format("{}/{}:{}", rank_folder(rank), file, row + 2);
}

}  // namespace plumbline::predicates
