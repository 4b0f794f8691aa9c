#include "harness/judge/audit/audit.hpp"

#include "harness/judge/audit/number_format.hpp"
#include "harness/judge/audit/optimizer_form.hpp"
#include "harness/judge/audit/table_audit.hpp"
#include "harness/judge/audit/value_audit.hpp"

namespace plumbline::auditing {
namespace {

bool all_dtypes_known(const Record& record, Audit& audit) {
  for (const RankRecord& rank : record.ranks) {
    for (const TensorRow& row : rank.tensors) {
      if (is_storage(row.dtype)) continue;
      audit.not_audited.emplace_back("tensors: " + row.name + " is of " + row.dtype +
                                     ", and float32, float64 and bfloat16 are what can be recomputed");
      return false;
    }
  }
  return true;
}

/// A rank that did not end well: its tables stop somewhere, and what they should add up to is not known.
bool incomplete(const Record& record, Audit& audit) {
  bool any = false;
  for (const RankRecord& rank : record.ranks) {
    if (rank.exit && rank.exit->status == "ok") continue;
    any = true;
    Finding finding;
    finding.file = "rank-" + std::to_string(rank.rank) + "/exit.json";
    finding.rank = rank.rank;
    finding.item = "status";
    finding.expected = "ok";
    finding.got = rank.exit ? rank.exit->status : "no file";
    finding.why = "the rank did not end well";
    audit.findings.push_back(std::move(finding));
  }
  if (any) audit.not_audited.emplace_back("all numbers: the run is not complete");
  return any;
}

void audit_values(const AuditedRecord& audited, Audit& audit, const AuditOptions& options) {
  Dumps dumps(audited.record());
  if (const auto bytes = dumps.bytes(); bytes > options.most_dump_bytes) {
    audit.not_audited.emplace_back("values: the dumps have " + std::to_string(bytes) + " bytes, more than " +
                                   std::to_string(options.most_dump_bytes));
    return;
  }
  audit.from_values = true;
  for (std::int64_t step = -1; step < audited.manifest().steps; ++step) {
    audit_rows_by_values(audited, dumps, step, audit);
    if (step < 0) continue;
    audit_gradient_values(audited, dumps, step, audit);
    audit_updates(audited, dumps, step, audit);
    dumps.forget_before(step);
  }
  if (audit.recomputed.erase("tied_sums_missing") > 0) {
    audit.not_audited.emplace_back("the sum of a tied weight's two uses: they were not dumped (gradient_use/)");
  }
}

}  // namespace

Audit audit_record(const Record& record, const AuditOptions& options) {
  Audit audit;
  const RecordLevel level = record.manifest.level;
  if (level == RecordLevel::none) {
    audit.not_audited.emplace_back("all numbers: a record of level none holds none");
    return audit;
  }
  if (incomplete(record, audit)) return audit;
  const AuditedRecord audited(record);
  audit_step_rows(audited, audit);
  if (level < RecordLevel::full) {
    audit.not_audited.emplace_back("tensors: a record of level " + to_text(level) + " holds none");
    return audit;
  }
  audit_norms_by_l2(audited, audit);
  audit_copies(audited, audit);
  if (!all_dtypes_known(record, audit)) return audit;
  audit_first_moments(audited, audit);
  if (!optimizer_form(record.manifest.json.at("optimizer"))) {
    audit.not_audited.emplace_back("the optimiser's step: no formula is known for " +
                                   record.manifest.json.at("optimizer").value("name", "it"));
  }
  if (level < RecordLevel::dump) {
    audit.not_audited.emplace_back("values: a record of level full holds none");
  } else if (options.values) {
    audit_values(audited, audit, options);
  }
  return audit;
}

}  // namespace plumbline::auditing
