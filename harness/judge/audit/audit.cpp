// SPDX-License-Identifier: BSD-3-Clause
#include "harness/judge/audit/audit.hpp"

#include <fmt/format.h>

#include <iterator>

#include "harness/judge/audit/learning_rate_form.hpp"
#include "harness/judge/audit/number_format.hpp"
#include "harness/judge/audit/optimizer_form.hpp"
#include "harness/judge/audit/table_audit.hpp"
#include "harness/judge/audit/value_audit.hpp"
#include "record/rank_folder.hpp"
#include "record/record_stream.hpp"
#include "record/removed_dumps.hpp"

namespace plumbline::auditing {
namespace {

/// Kinds of rows from which updates are recomputed.
const std::vector<std::string>& of_updates() {
  static const std::vector<std::string> kinds = {"gradients", "norm", "parameters", "moments", "rates"};
  return kinds;
}

void append(Audit& whole, Audit part) {
  whole.findings.insert(whole.findings.end(), std::make_move_iterator(part.findings.begin()),
                        std::make_move_iterator(part.findings.end()));
  for (const auto& [what, number] : part.recomputed) whole.count(what, number);
}

}  // namespace

RecordAudit::RecordAudit(const Record& record, const AuditOptions& options)
    : record_(record), options_(options), rows_before_(record.ranks.size()) {
  const RecordLevel level = record.manifest.level;
  if (level == RecordLevel::none) {
    whole_.not_audited.emplace_back("all numbers: a record of level none holds none");
    no_rows_ = true;
    return;
  }
  no_rows_ = incomplete();
  if (no_rows_ || level < RecordLevel::dump || dumps_were_removed(record.path) || !options.values) return;
  if (record.in_part() || record.manifest.every > 1 || !record.manifest.recorded(of_updates())) return;
  dumps_.emplace(record);
  dump_bytes_ = dumps_->bytes();
  if (dump_bytes_ > options.most_dump_bytes) dumps_.reset();
}

/// A rank that did not end well: its tables are incomplete, so their sums are unknown.
bool RecordAudit::incomplete() {
  bool any = false;
  for (const RankRecord& rank : record_.ranks) {
    if (rank.exit && rank.exit->status == "ok") continue;
    any = true;
    whole_.findings.push_back({.level = part::structure,
                               .rank = rank.rank,
                               .source = rank_folder(rank.rank) + "/exit.json",
                               .item = "status",
                               .expected = "ok",
                               .got = rank.exit ? rank.exit->status : "no file",
                               .why = "the rank did not end well"});
  }
  if (any) whole_.not_audited.emplace_back("all numbers: the run is not complete");
  return any;
}

void RecordAudit::step(std::int64_t step, const std::vector<RankRecord>& before) {
  if (no_rows_) return;
  for (std::size_t i = 0; i < rows_before_.size() && step < 0; ++i) {
    rows_before_[i] = record_.ranks[i].left_out;  // known after the start was read
  }
  const AuditedStep audited(record_, step, before, rows_before_);
  audit_step_rows(audited, rows_);
  if (options_.alone) possible_numbers_.step(audited, possible_);
  if (record_.manifest.level >= RecordLevel::full) {
    audit_norms_by_l2(audited, norms_);
    audit_copies(audited, copies_);
    note_unknown_dtype();
    if (!unknown_dtype_) of_values(audited);
  }
  for (std::size_t i = 0; i < rows_before_.size(); ++i) rows_before_[i].add(record_.ranks[i]);
}

/// If one tensor cannot be recomputed, none is: earlier findings are void.
void RecordAudit::note_unknown_dtype() {
  if (unknown_dtype_) return;
  for (const RankRecord& rank : record_.ranks) {
    for (const TensorRow& row : rank.tensors) {
      if (is_storage(row.dtype) || row.kind == "copy" || row.kind == "buffer") continue;  // no number follows from it
      unknown_dtype_ = fmt::format("tensors: {} is of {}, and float32, float64 and bfloat16 are what can be recomputed",
                                   row.name, row.dtype);
      return;
    }
  }
}

void RecordAudit::of_values(const AuditedStep& audited) {
  audit_first_moments(audited, values_);
  audit_masters_by_rows(audited, values_);
  if (!dumps_) return audit_still_tensors(audited, values_);  // dumped values cover each element
  values_.from_values = true;
  audit_rows_by_values(audited, *dumps_, values_);
  audit_masters_by_values(audited, *dumps_, values_);
  if (audited.step() < 0) return;
  audit_gradient_values(audited, *dumps_, values_);
  audit_updates(audited, *dumps_, updates_, values_);
  dumps_->forget_before(audited.step());
}

Audit RecordAudit::conclude() {
  Audit audit = std::move(whole_);
  if (no_rows_) return audit;
  const Manifest& manifest = record_.manifest;
  const auto not_audited = [&](const std::string& what) { audit.not_audited.push_back(what); };
  if (!learning_rate_form(manifest)) not_audited("learning rates: the manifest has no learning_rate_schedule");
  append(audit, std::move(possible_));
  append(audit, std::move(rows_));
  if (manifest.level < RecordLevel::full) {
    not_audited(fmt::format("tensors: a record of level {} holds none", to_text(manifest.level)));
    return audit;
  }
  append(audit, std::move(norms_));
  append(audit, std::move(copies_));
  if (!manifest.recorded({"sends", "receives", "boundaries"}))
    not_audited("whether every message arrived: the recorder could not see both ends");
  if (!manifest.traits.own_formulas) {
    const std::string norms = manifest.clip_norm ? "" : "gradient norms and ";
    not_audited(norms + "first moments against l2 and max_abs: an external trainer may compute these in any way");
  }
  if (unknown_dtype_) {
    not_audited(*unknown_dtype_);
    return audit;
  }
  const bool sums_missing = values_.recomputed.erase("tied_sums_missing") > 0;
  const bool updates_missing = values_.recomputed.erase("updates_missing") > 0;
  audit.power = std::move(values_.power);
  audit.from_values = values_.from_values;
  append(audit, std::move(values_));
  if (const std::string why = why_not_recomputed(manifest); !why.empty())
    not_audited("the optimiser's step is not recomputed: " + why);
  if (manifest.level < RecordLevel::dump) not_audited("values: a record of level full holds none");
  if (manifest.level == RecordLevel::dump) {
    if (dumps_were_removed(record_.path))
      not_audited(fmt::format("values: the record's dumps were removed, as its {} says", removed_dumps_name));
    if (record_.in_part())
      not_audited(fmt::format("values: the steps before step {} were skipped", record_.first_step));
    if (manifest.every > 1)
      not_audited(fmt::format("values: one step of {} was recorded, and an update follows from the step before it",
                              manifest.every));
    if (!manifest.recorded(of_updates()))
      not_audited("values: the recorder could not see everything that updates are computed from");
  }
  if (dump_bytes_ > options_.most_dump_bytes)
    not_audited(
        fmt::format("values: the dumps have {} bytes, more than {}; plumbline record check --large-dumps reads them",
                    dump_bytes_, options_.most_dump_bytes));
  if (updates_missing) not_audited("updates of parameters whose moments before or after them were not recorded");
  if (sums_missing) not_audited("the sum of a tied weight's two uses: they were not dumped (gradient_use/)");
  return audit;
}

Audit audit_record(const std::filesystem::path& path, const AuditOptions& options) {
  RecordStream stream(path);
  RecordAudit audit(stream.record(), options);
  for (std::optional<std::int64_t> step = -1; step; step = stream.next_step()) {
    stream.go_to(*step);
    audit.step(*step, stream.before());
  }
  return audit.conclude();
}

}  // namespace plumbline::auditing
