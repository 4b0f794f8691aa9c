// SPDX-License-Identifier: BSD-3-Clause
#include <fmt/format.h>

#include "harness/judge/audit/number_format.hpp"
#include "harness/judge/audit/table_audit.hpp"
#include "harness/judge/audit/value_audit.hpp"
#include "record/precision.hpp"
#include "support/numbers.hpp"

namespace plumbline::auditing {
namespace {

void report(const TensorPlace& copy, const std::string& item, const std::string& expected, const std::string& got,
            Audit& audit) {
  audit.findings.push_back(
      at_tensor(copy, item, expected, got, "a copy is its master rounded once to " + copy.row->dtype));
}

template <class Visit>
void for_each_copy(const AuditedStep& audited, Visit visit) {
  if (audited.manifest().dtype != mixed_precision) return;
  for (const TensorPlace& place : audited.tensors()) {
    if (place.row->kind == "copy") visit(place);
  }
}

}  // namespace

void audit_masters_by_rows(const AuditedStep& audited, Audit& audit) {
  if (!audited.manifest().traits.own_formulas) return;
  for_each_copy(audited, [&](const TensorPlace& copy) {
    const TensorRow* master = audited.row_like("parameter", copy);
    const std::string name = "copy " + copy.row->name;
    if (master == nullptr) return report(copy, name, "its master", "none", audit);
    if (!is_storage(copy.row->dtype) || master->nan + master->inf > 0) return;
    // Rounding is monotonic: the copy's largest element is the master's largest, rounded.
    const double expected = rounded(storage_of(copy.row->dtype), static_cast<double>(master->max_abs));
    audit.count("numbers");
    if (expected == static_cast<double>(copy.row->max_abs)) return;
    report(copy, "max_abs of " + name, to_text(expected), to_text(copy.row->max_abs), audit);
  });
}

void audit_masters_by_values(const AuditedStep& audited, Dumps& dumps, Audit& audit) {
  for_each_copy(audited, [&](const TensorPlace& copy) {
    const auto dumped = [&](const std::string& kind) {
      return dumps.find(copy.rank, audited.step(), fmt::format("{}/{}", kind, copy.row->name));
    };
    const SafetensorsEntry *master = dumped("parameter"), *narrow = dumped("copy");
    if (!master || !narrow || master->shape != narrow->shape) return;  // audit_rows_by_values reports it
    if (!is_storage(narrow->dtype)) return;  // float16, which is compared with the other record's
    const Storage storage = storage_of(narrow->dtype);
    const std::vector<double> wide = values_of(*master), values = values_of(*narrow);
    audit.count("elements", static_cast<std::int64_t>(values.size()));
    for (std::size_t i = 0; i < values.size(); ++i) {
      const double expected = rounded(storage, wide[i]);
      if (expected == values[i]) continue;
      const std::string item = fmt::format("copy {}, element {}", copy.row->name, i);
      return report(copy, item, to_text(expected), to_text(values[i]), audit);
    }
  });
}

}  // namespace plumbline::auditing
