// SPDX-License-Identifier: BSD-3-Clause
#include "harness/judge/predicates/predicates.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <set>
#include <tuple>

#include "harness/judge/comparability.hpp"
#include "harness/judge/facts/fact.hpp"
#include "harness/judge/predicates/forms.hpp"
#include "record/rank_folder.hpp"
#include "record/record_stream.hpp"
#include "support/numbers.hpp"

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
      not_judged("whether every message arrived (not both ends were recorded)");
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

namespace {

template <class Row>
bool is_finite(const Placed<Row>& place, const char* level, const char* item, double value, Report& report) {
  if (std::isfinite(value)) return true;
  report.findings.push_back(at_row(place, level, item, "a finite number", to_text(value), "not finite"));
  return false;
}

}  // namespace

bool numbers_are_possible(const RecordStep& step, Report& report) {
  const bool cross_entropy = step.manifest().conventions.config_of_a_llama &&
                             judging::recorded_throughout(step.record(), {"inputs", "labels"});
  bool finite = true;
  const auto loss = [&](const auto& place, const char* level, float value) {
    if (!is_finite(place, level, "loss", static_cast<double>(value), report)) return void(finite = false);
    const auto impossible = cross_entropy ? judging::why_no_loss(value, place.row->valid_tokens) : std::nullopt;
    if (impossible)
      report.findings.push_back(
          at_row(place, level, "loss", *impossible, to_text(value), "a sum of cross-entropies cannot have this value"));
  };
  for (const auto& place : step.microbatches())
    if (place.row->loss) loss(place, part::loss, *place.row->loss);
  for (const auto& place : step.steps()) {
    if (place.row->loss) loss(place, part::loss, *place.row->loss);
    if (place.row->gradient_norm && place.row->updated != false)
      finite &= is_finite(place, part::norm, "gradient_norm", *place.row->gradient_norm, report);
  }
  for (const auto& place : step.evaluation()) loss(place, part::evaluation, place.row->loss);
  for (const auto& place : step.tensors()) {
    const TensorRow& row = *place.row;
    if (row.nan + row.inf == 0) continue;
    report.findings.push_back(
        at_tensor(place, "finite values", fmt::format("{} NaN and {} infinite", row.nan, row.inf), "not finite"));
    finite = false;
  }
  return finite;
}

namespace {

using BoundaryPlace = Placed<BoundaryRow>;

Finding at_boundary(const BoundaryPlace& place, const std::string& expected, const std::string& got,
                    const std::string& why) {
  const BoundaryRow& row = *place.row;
  return at_row(place, row.direction == "forward" ? part::forward : part::backward,
                fmt::format("{} boundary {}, side {}", row.direction, row.cut, row.side), expected, got, why);
}

}  // namespace

void received_as_sent(const RecordStep& step, Report& report) {
  using Crossing =
      std::tuple<std::int64_t, std::string, std::string, std::optional<std::int64_t>, std::optional<std::int64_t>>;
  std::map<Crossing, BoundaryPlace> sent;
  const auto crossing = [](const BoundaryRow& row) {
    return Crossing{row.microbatch, row.direction, row.cut, row.from_stage, row.to_stage};
  };
  for (const BoundaryPlace& place : step.boundaries()) {
    if (place.row->side == "send") sent.emplace(crossing(*place.row), place);
  }
  const bool sends_recorded = judging::recorded_throughout(step.record(), {"sends", "boundaries"});
  for (const BoundaryPlace& place : step.boundaries()) {
    if (place.row->side != "receive") continue;
    const auto found = sent.find(crossing(*place.row));
    if (found == sent.end()) {
      if (sends_recorded)
        report.findings.push_back(at_boundary(place, "a send", "none", "received, but no rank sent it"));
      continue;
    }
    report.count("crossings");
    const BoundaryRow& from = *found->second.row;
    if (from.digest != place.row->digest) {
      report.findings.push_back(
          at_boundary(place, from.digest, place.row->digest, "the received tensor differs from the sent one"));
    }
    sent.erase(found);
  }
  if (!judging::recorded_throughout(step.record(), {"receives", "boundaries"})) return;
  for (const auto& [key, place] : sent) {
    report.findings.push_back(at_boundary(place, "a receive", "none", "sent, but no rank received it"));
  }
}

void tied_copies_are_equal(const RecordStep& step, Report& report) {
  // Each rounds its own; where bits are compared the check tied_weights finds them.
  if (judging::several_gpu_models(step.manifest())) return;
  for (const auto& names : step.manifest().tied) {
    const std::set<std::string> copies(names.begin(), names.end());
    std::map<std::string, const TensorRow*> first;
    for (const auto& place : step.tensors()) {
      if (!copies.contains(place.row->name)) continue;
      const auto [found, fresh] = first.emplace(place.row->kind, place.row);
      if (fresh) continue;
      report.count("numbers");
      if (found->second->digest == place.row->digest) continue;
      report.findings.push_back(at_tensor(place, found->second->digest, place.row->digest,
                                          fmt::format("it is tied to {} but has different bits", found->second->name)));
    }
  }
}

namespace {

/// Recorded norms and l2 derive from the same values in double precision. The error of a sum of n squares is sqrt(n)
/// 2^-53 there: 3e-12 at 5e8 elements. The bound by the number of terms, 5e-8, is never reached.
constexpr double allowed_share = 1e-10;

struct Item {
  const char *level, *name, *why;
};

/// Requires the same bits.
template <typename Number>
void exactly(const Placed<StepRow>& place, const Item& item, Number expected, const std::optional<Number>& got,
             Report& report) {
  report.count("numbers");
  if (got && std::memcmp(&*got, &expected, sizeof(Number)) == 0) return;
  report.findings.push_back(
      at_row(place, item.level, item.name, to_text(expected), got ? to_text(*got) : "absent", item.why));
}

}  // namespace

void same_norm_on_all_ranks(const RecordStep& step, Report& report) {
  std::optional<double> first;
  for (const auto& place : step.steps()) {
    const auto& norm = place.row->gradient_norm;
    if (!norm && !judging::is_optional(step.record(), "norm"))
      report.findings.push_back(
          at_row(place, part::norm, "gradient_norm", "a norm", "absent", "every rank must have it"));
    if (norm && first)
      exactly(place, {part::norm, "gradient_norm", "other ranks have another norm"}, *first, norm, report);
    if (!first) first = norm;
  }
}

void coefficient_of_norm(const RecordStep& step, Report& report) {
  for (const auto& place : step.steps()) {
    const StepRow& row = *place.row;
    if (!row.gradient_norm) continue;
    const auto right = right_coefficients(row.replayed_norm.value_or(*row.gradient_norm), step.manifest());
    const auto& got = row.clip_coefficient;
    const bool found = got && std::ranges::find(right, *got) != right.end();
    exactly(place, {part::norm, "clip_coefficient", "it is not min(1, limit / norm) of this row's norm"},
            found ? *got : right.front(), got, report);
  }
}

void rate_of_schedule(const RecordStep& step, Report& report) {
  const auto rate = learning_rate_form(step.manifest());
  if (!rate) return;
  for (const auto& place : step.steps()) {
    if (place.row->learning_rate || judging::recorded_throughout(step.record(), {"rates"}))
      exactly(place, {part::learning_rate, "learning_rate", "it is not the rate of this step"},
              rate->at(place.row->step * step.manifest().every), place.row->learning_rate, report);
  }
}

void sums_of_microbatches(const RecordStep& step, Report& report) {
  // This record may have only a part of the step; the check replicas adds the parts.
  if (step.manifest().part_of_step()) return;
  constexpr const char* why = "it is not the sum over the step's microbatches";
  for (const auto& place : step.steps()) {
    std::int64_t tokens = 0, valid = 0;
    std::map<std::int64_t, std::optional<float>> losses;  ///< by microbatch
    for (const MicrobatchRow& row : step.record().ranks[static_cast<std::size_t>(place.rank)].microbatches) {
      tokens += row.tokens;
      valid += row.valid_tokens;
      losses[row.microbatch] = row.loss;
    }
    std::optional<float> loss = 0.0F;
    for (const auto& [microbatch, one] : losses) loss = loss && one ? std::optional(*loss + *one) : std::nullopt;
    exactly(place, {part::data, "tokens", why}, tokens, std::optional(place.row->tokens), report);
    exactly(place, {part::data, "valid_tokens", why}, valid, std::optional(place.row->valid_tokens), report);
    if (place.row->loss && loss) exactly(place, {part::loss, "loss", why}, *loss, place.row->loss, report);
  }
}

void norm_of_gradients(const RecordStep& step, Report& report) {
  const bool own = step.manifest().conventions.exact_formulas;
  if (!own && !step.manifest().clip_norm) return;  // Predicates reports it
  const auto by_rows = norm_by_rows(step.record());
  const double allowed = own ? allowed_share : by_rows ? by_rows->limit : 0;
  if (!by_rows || allowed > widest_norm_limit) return;  // gradient_norm reports it
  for (const auto& place : step.steps()) {
    const auto& norm = place.row->gradient_norm;
    if (place.rank > 0 || !norm || place.row->updated == false) continue;  // all ranks have the same
    if (!std::isfinite(by_rows->norm) && !std::isfinite(*norm)) continue;  // reported as not finite
    report.count("numbers");
    if (std::abs(*norm - by_rows->norm) <= allowed * by_rows->norm) continue;
    report.findings.push_back(at_row(
        place, part::norm, "gradient_norm", to_text(by_rows->norm), to_text(*norm),
        "it is not the root of the sum of l2 squared over the gradients in tensors.csv (a tied weight counted once)"));
  }
}

}  // namespace plumbline::predicates
