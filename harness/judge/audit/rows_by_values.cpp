// SPDX-License-Identifier: BSD-3-Clause
#include <fmt/format.h>

#include <cmath>
#include <set>

#include "harness/judge/audit/value_audit.hpp"
#include "record/digest.hpp"
#include "record/tensor_statistics.hpp"
#include "support/numbers.hpp"
#include "support/text.hpp"

namespace plumbline::auditing {
namespace {

class RowAudit {
 public:
  RowAudit(const AuditedStep& audited, const TensorPlace& place, Audit& audit)
      : audited_(audited), place_(place), row_(*place.row), audit_(audit) {}

  void against(const SafetensorsEntry& tensor) {
    if (tensor.dtype != row_.dtype) return report("dtype", tensor.dtype, row_.dtype);
    if (tensor.shape != row_.shape) return report("shape", shape_text(tensor.shape), shape_text(row_.shape));
    equal("digest", tensor_digest(tensor.dtype, tensor.shape, tensor.bytes), row_.digest);
    const TensorStatistics facts = wide_statistics(tensor.dtype, tensor.shape, tensor.bytes);
    const std::int64_t elements = element_count(tensor.shape);
    equal("nonzero", to_text(facts.nonzero), to_text(row_.nonzero));
    equal("nan", to_text(facts.nan), to_text(row_.nan));
    equal("inf", to_text(facts.inf), to_text(row_.inf));
    if (row_.nonzero_rows) {
      equal("nonzero_rows", facts.nonzero_rows ? to_text(*facts.nonzero_rows) : "none", to_text(*row_.nonzero_rows));
    }
    audit_.count("elements", elements);
    if (!audited_.manifest().traits.own_formulas) return;
    equal("max_abs", to_text(facts.max_abs), to_text(row_.max_abs));
    audit_.count("numbers");
    const double allowed = (static_cast<double>(elements) + 2) * 0x1p-53;
    const bool same = to_text(facts.l2) == to_text(row_.l2);  // for example, not finite
    if (!same && !(std::abs(row_.l2 - facts.l2) <= allowed * facts.l2))
      report("l2", to_text(facts.l2), to_text(row_.l2));
  }

  void report(const std::string& column, const std::string& expected, const std::string& got) {
    audit_.findings.push_back(at_tensor(place_, fmt::format("{} of {} {}", column, row_.kind, row_.name), expected, got,
                                        "it does not match the values in " + Dumps::name(place_.rank, row_.step)));
  }

 private:
  /// Texts are shortest round-trip forms, so they are equal only for equal numbers.
  void equal(const std::string& column, const std::string& expected, const std::string& got) {
    audit_.count("numbers");
    if (expected != got) report(column, expected, got);
  }

  const AuditedStep& audited_;
  const TensorPlace& place_;
  const TensorRow& row_;
  Audit& audit_;
};

void audit_boundary_row(const Placed<BoundaryRow>& place, const SafetensorsEntry* tensor, Audit& audit) {
  const BoundaryRow& row = *place.row;
  audit.count("numbers");
  std::string expected = "none", got = row.digest;
  if (tensor) expected = tensor_digest(tensor->dtype, tensor->shape, tensor->bytes);
  if (tensor && expected == got && tensor->dtype == row.dtype && tensor->shape == row.shape) return;
  if (expected == got)
    expected = fmt::format("{} {}", tensor->dtype, shape_text(tensor->shape)),
    got = fmt::format("{} {}", row.dtype, shape_text(row.shape));
  audit.findings.push_back(
      at_row(place, row.direction == "forward" ? part::forward : part::backward,
             fmt::format("digest of the {} boundary {}, side {}", row.direction, row.cut, row.side), expected, got,
             "it does not match the values in " + Dumps::name(place.rank, row.step)));
}

}  // namespace

void audit_rows_by_values(const AuditedStep& audited, Dumps& dumps, Audit& audit) {
  const std::int64_t step = audited.step();
  std::map<std::int64_t, std::set<std::string>> with_row;
  for (const TensorPlace& place : audited.tensors()) {
    const std::string key = place.row->kind + "/" + place.row->name;
    with_row[place.rank].insert(key);
    RowAudit row(audited, place, audit);
    const SafetensorsEntry* tensor = dumps.find(place.rank, step, key);
    if (tensor) {
      row.against(*tensor);
    } else {
      row.report("digest", "none", place.row->digest);
    }
  }
  for (const auto& place : audited.boundaries()) {
    const BoundaryRow& row = *place.row;
    const std::int64_t dumped = row.microbatch - audited.record().first_microbatch;
    const std::string key = fmt::format("boundary/{}/{}/{}/{}", row.direction, dumped, row.cut, row.side);
    with_row[place.rank].insert(key);
    audit_boundary_row(place, dumps.find(place.rank, step, key), audit);
  }
  for (const RankRecord& rank : audited.record().ranks) {
    for (const auto& [key, tensor] : dumps.file(rank.rank, step).entries()) {
      if (with_row[rank.rank].contains(key)) continue;
      if (key.starts_with("gradient_use/") || key.starts_with("gradient_after/")) continue;
      audit.findings.push_back({.level = part::structure,
                                .step = step,
                                .rank = rank.rank,
                                .source = Dumps::name(rank.rank, step),
                                .item = key,
                                .expected = "a row of tensors.csv or boundaries.csv",
                                .got = "none",
                                .why = "the dump holds a tensor that has no row"});
    }
  }
}

}  // namespace plumbline::auditing
