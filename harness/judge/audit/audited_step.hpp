// SPDX-License-Identifier: BSD-3-Clause
// A step of a record for the recomputation: rows by rank with their lines, and those of the previous step.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "harness/judge/audit/findings.hpp"
#include "record/columns.hpp"
#include "record/record.hpp"

namespace plumbline::auditing {

/// A row of one of a rank's tables.
template <class Row>
struct Placed {
  std::int64_t rank = 0;
  std::size_t index = 0;  ///< index in the whole table
  const Row* row = nullptr;
};
using TensorPlace = Placed<TensorRow>;

/// Keeps pointers into the rows.
class AuditedStep {
 public:
  /// `record`: with the rows of the step; `before`: those of the previous step, by rank, with their offset
  /// `rows_before`.
  AuditedStep(const Record& record, std::int64_t step, const std::vector<RankRecord>& before,
              const std::vector<RowsBefore>& rows_before);

  const Record& record() const { return record_; }
  const Manifest& manifest() const { return record_.manifest; }
  std::int64_t step() const { return step_; }
  const std::vector<RankRecord>& before() const { return before_; }

  // All ranks' rows.
  const std::vector<TensorPlace>& tensors() const { return tensors_; }
  const std::vector<Placed<BoundaryRow>>& boundaries() const { return boundaries_; }
  const std::vector<Placed<MicrobatchRow>>& microbatches() const { return microbatches_; }
  const std::vector<Placed<StepRow>>& steps() const { return steps_; }
  const std::vector<Placed<EvaluationRow>>& evaluation() const { return evaluation_; }

  /// The row of this kind with the name, rank and stage of `like`; null if there is none.
  const TensorRow* row_like(const std::string& kind, const TensorPlace& like) const {
    return find(by_key_, kind, like);
  }
  /// The same in the previous step.
  const TensorRow* before(const std::string& kind, const TensorPlace& like) const {
    return find(before_by_key_, kind, like);
  }

 private:
  using Key = std::tuple<std::int64_t, std::int64_t, std::string, std::string>;  ///< rank, stage, kind, name
  using Rows = std::map<Key, const TensorRow*>;
  static const TensorRow* find(const Rows& rows, const std::string& kind, const TensorPlace& like);

  const Record& record_;
  std::int64_t step_;
  const std::vector<RankRecord>& before_;
  std::vector<TensorPlace> tensors_;
  std::vector<Placed<BoundaryRow>> boundaries_;
  std::vector<Placed<MicrobatchRow>> microbatches_;
  std::vector<Placed<StepRow>> steps_;
  std::vector<Placed<EvaluationRow>> evaluation_;
  Rows by_key_, before_by_key_;
};

/// "rank-1/steps.csv:3": the first row is in line 2.
std::string table_line(std::int64_t rank, const std::string& file, std::size_t row);

template <class Row>
Finding at_row(const Placed<Row>& place, const std::string& level, const std::string& item, const std::string& expected,
               const std::string& got, const std::string& why) {
  Finding finding = {.level = level,
                     .step = place.row->step,
                     .rank = place.rank,
                     .source = table_line(place.rank, table_of<Row>().file, place.index),
                     .item = item,
                     .expected = expected,
                     .got = got,
                     .why = why};
  if constexpr (requires { place.row->microbatch; }) finding.microbatch = place.row->microbatch;
  return finding;
}

/// About a tensor; `source`: another file than its row of tensors.csv.
Finding at_tensor(const TensorPlace& place, const std::string& item, const std::string& expected,
                  const std::string& got, const std::string& why, const std::string& source = "");

}  // namespace plumbline::auditing
