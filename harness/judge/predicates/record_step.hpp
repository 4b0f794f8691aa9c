// SPDX-License-Identifier: BSD-3-Clause
// A step of a record as predicates see it, rows by rank with their lines, and what they report.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "record/columns.hpp"
#include "record/finding.hpp"
#include "record/record.hpp"

namespace plumbline::predicates {

/// Parts of a step (Finding::level), which order findings among other checks' findings.
namespace part {
inline constexpr const char *structure = "structure", *data = "data", *forward = "forward", *loss = "loss",
                            *backward = "backward", *gradient = "gradient", *norm = "norm",
                            *learning_rate = "learning_rate", *parameter = "parameter", *evaluation = "evaluation";
}  // namespace part

struct Report {
  std::vector<Finding> findings;
  std::map<std::string, std::int64_t> judged;  ///< numbers, crossings: how many were
  std::vector<std::string> not_judged;         ///< what was not, with the reason

  void count(const std::string& what) { ++judged[what]; }
};

/// A row of one of a rank's tables.
template <class Row>
struct Placed {
  std::int64_t rank = 0;
  std::size_t index = 0;  ///< index in the whole table
  const Row* row = nullptr;
};

/// Keeps pointers into the rows.
class RecordStep {
 public:
  /// `record`: with the rows of the step; `rows_before`: how many precede them, by rank.
  RecordStep(const Record& record, std::int64_t step, const std::vector<RowsBefore>& rows_before);

  const Record& record() const { return record_; }
  const Manifest& manifest() const { return record_.manifest; }
  std::int64_t step() const { return step_; }

  // All ranks' rows.
  const std::vector<Placed<TensorRow>>& tensors() const { return tensors_; }
  const std::vector<Placed<BoundaryRow>>& boundaries() const { return boundaries_; }
  const std::vector<Placed<MicrobatchRow>>& microbatches() const { return microbatches_; }
  const std::vector<Placed<StepRow>>& steps() const { return steps_; }
  const std::vector<Placed<EvaluationRow>>& evaluation() const { return evaluation_; }

 private:
  const Record& record_;
  std::int64_t step_;
  std::vector<Placed<TensorRow>> tensors_;
  std::vector<Placed<BoundaryRow>> boundaries_;
  std::vector<Placed<MicrobatchRow>> microbatches_;
  std::vector<Placed<StepRow>> steps_;
  std::vector<Placed<EvaluationRow>> evaluation_;
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
  if constexpr (requires { place.row->stage; }) finding.stage = place.row->stage;
  return finding;
}

/// About a tensor.
inline Finding at_tensor(const Placed<TensorRow>& place, const std::string& expected, const std::string& got,
                         const std::string& why) {
  return at_row(place, place.row->kind == "gradient" ? part::gradient : part::parameter,
                place.row->kind + " " + place.row->name, expected, got, why);
}

}  // namespace plumbline::predicates
