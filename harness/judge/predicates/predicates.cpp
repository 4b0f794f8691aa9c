// SPDX-License-Identifier: BSD-3-Clause
#include "harness/judge/predicates/predicates.hpp"

#include <fmt/format.h>

#include "harness/judge/facts/excuses.hpp"
#include "harness/judge/predicates/forms.hpp"
#include "harness/judge/predicates/record_step.hpp"
#include "record/rank_folder.hpp"
#include "record/record_stream.hpp"

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
  // Nothing follows from a buffer, or from gradients of a step in which no optimizer stepped.
  const bool skipped = any_updated(record.ranks) == false;
  std::erase_if(tensors_, [&](const auto& tensor) {
    return tensor.row->kind == "buffer" || (skipped && tensor.row->kind == "gradient");
  });
}

std::string table_line(std::int64_t rank, const std::string& file, std::size_t row) {
  return fmt::format("{}/{}:{}", rank_folder(rank), file, row + 2);
}

Predicates::Predicates(const Record& record, bool alone)
    : record_(record), possible_(alone), rows_before_(record.ranks.size()) {
  const Manifest& manifest = record.manifest;
  if (manifest.level == RecordLevel::none) {
    report_.not_judged.emplace_back("all numbers (a record of level none has none)");
    return;
  }
  for (const RankRecord& rank : record.ranks) {
    if (rank.exit && rank.exit->status == "ok") continue;
    report_.findings.push_back({.level = part::structure,
                                .rank = rank.rank,
                                .source = rank_folder(rank.rank) + "/exit.json",
                                .item = "status",
                                .expected = "ok",
                                .got = rank.exit ? rank.exit->status : "no file",
                                .why = "the rank crashed or timed out"});
  }
  judged_ = report_.findings.empty();
  if (!judged_) report_.not_judged.emplace_back("all numbers (the run did not complete)");
}

void Predicates::step(std::int64_t step) {
  if (!judged_) return;
  for (std::size_t i = 0; i < rows_before_.size() && step < 0; ++i) {
    rows_before_[i] = record_.ranks[i].left_out;  // known after the start was read
  }
  const RecordStep now(record_, step, rows_before_);
  same_norm_on_all_ranks(now, report_);
  coefficient_of_norm(now, report_);
  rate_of_schedule(now, report_);
  sums_of_microbatches(now, report_);
  if (record_.manifest.level >= RecordLevel::full) {
    norm_of_gradients(now, report_);
    received_as_sent(now, report_);
    tied_copies_are_equal(now, report_);
  }
  possible_ = possible_ && numbers_are_possible(now, report_);
  for (std::size_t i = 0; i < rows_before_.size(); ++i) rows_before_[i].add(record_.ranks[i]);
}

Report Predicates::conclude() {
  const Manifest& manifest = record_.manifest;
  const auto not_judged = [&](const std::string& what) { report_.not_judged.push_back(what); };
  if (judged_ && !learning_rate_form(manifest))
    not_judged("learning rates (the manifest lacks learning_rate_schedule)");
  if (judged_ && manifest.level < RecordLevel::full)
    not_judged(fmt::format("tensors (a record of level {} has none)", to_text(manifest.level)));
  if (judged_ && manifest.level >= RecordLevel::full) {
    if (!judging::recorded_throughout(record_, {"sends", "receives", "boundaries"}))
      not_judged("whether every message arrived (the recorder could not see both ends)");
    if (!manifest.conventions.exact_formulas && !manifest.clip_norm)
      not_judged("gradient norms against l2 (an external trainer may compute them in any way)");
  }
  return std::move(report_);
}

Report judge_alone(const std::filesystem::path& path) {
  RecordStream stream(path);
  Predicates predicates(stream.record(), /*alone=*/true);
  for (std::optional<std::int64_t> step = -1; step; step = stream.next_step()) {
    stream.go_to(*step);
    predicates.step(*step);
  }
  return predicates.conclude();
}

}  // namespace plumbline::predicates
