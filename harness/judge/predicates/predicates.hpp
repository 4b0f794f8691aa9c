// SPDX-License-Identifier: BSD-3-Clause
// Predicates: rules that the tables of one record fulfill by themselves, one step at a time. They find mistakes that
// both records of a case share; what only a second trainer can show, the cross-check finds (python/README.md).
#pragma once

#include <cstdint>
#include <filesystem>
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

/// All ranks have the same norm, and a norm at all.
void same_norm_on_all_ranks(const RecordStep& step, Report& report);
/// The clip coefficient follows from norm and limit (forms.hpp), in bits.
void coefficient_of_norm(const RecordStep& step, Report& report);
/// The rate follows from the manifest's schedule (forms.hpp), in bits.
void rate_of_schedule(const RecordStep& step, Report& report);
/// A step's loss is the float32 sum of its microbatches' from left to right; its tokens are their sums.
void sums_of_microbatches(const RecordStep& step, Report& report);
/// The norm is the root of the sum of squared `l2` of the gradients, a tied weight counted once: at 1e-10, for an
/// external record that clips within the bound of forms.hpp. Needs level full.
void norm_of_gradients(const RecordStep& step, Report& report);
/// Received tensors equal sent ones, and both ends are recorded. Needs level full.
void received_as_sent(const RecordStep& step, Report& report);
/// The copies of a tied weight have the same bits, in every kind of tensor. Needs level full.
void tied_copies_are_equal(const RecordStep& step, Report& report);
/// Losses, norms and tensors are finite, and a Llama's losses are possible cross-entropies. For a record that no other
/// check sees. False if something is not finite.
bool numbers_are_possible(const RecordStep& step, Report& report);

/// All predicates of one record. Keeps only counts from step to step.
class Predicates {
 public:
  /// Keeps a reference to the record, which has the rows of the current step. `alone`: no other check sees the
  /// record, so its numbers must be possible, too.
  Predicates(const Record& record, bool alone);

  /// Call for the start (-1), then for every step of the run.
  void step(std::int64_t step);
  Report conclude();

 private:
  const Record& record_;
  bool possible_;        ///< nothing impossible so far; else what follows is not reported again
  bool judged_ = false;  ///< the run is complete and has rows
  std::vector<RowsBefore> rows_before_;
  Report report_;
};

/// A whole record, alone. Throws InputError if it cannot be read.
Report judge_alone(const std::filesystem::path& record);

}  // namespace plumbline::predicates
