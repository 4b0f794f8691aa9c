// SPDX-License-Identifier: BSD-3-Clause
// Predicates: rules that the tables of one record fulfill by themselves, one step at a time. They find mistakes that
// both records of a case share; what only a second trainer can show, the cross-check finds (python/README.md).
#pragma once

#include <filesystem>
#include <vector>

#include "harness/judge/predicates/record_step.hpp"
#include "record/record.hpp"

namespace plumbline::predicates {

/// All ranks have the same norm, and a norm at all.
void same_norm_on_all_ranks(const RecordStep& step, Report& report);
/// The clip coefficient follows from norm and limit (forms.hpp), in bits.
void coefficient_of_norm(const RecordStep& step, Report& report);
/// The rate follows from the manifest's schedule (forms.hpp), in bits.
void rate_of_schedule(const RecordStep& step, Report& report);
/// A step's loss is the float32 sum of its microbatches' from left to right; its tokens are their sums.
void sums_of_microbatches(const RecordStep& step, Report& report);
/// The norm is the root of the sum of squared `l2` of the gradients, a tied weight counted once: at 1e-10, for an
/// external record that clips within the limit of norm_rounding.hpp. Needs level full.
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
