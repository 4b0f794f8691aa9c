// SPDX-License-Identifier: BSD-3-Clause
#include "harness/baseline/baseline_comparison.hpp"

#include <algorithm>

#include "support/error.hpp"

namespace plumbline {

std::string to_text(ChangeKind kind) {
  switch (kind) {
    case ChangeKind::bits:
      return "bits";
    case ChangeKind::bytes:
      return "bytes";
    case ChangeKind::coverage:
      return "coverage";
  }
  return "";
}

ChangeKind parse_change_kind(const std::string& text) {
  for (const ChangeKind kind : {ChangeKind::bits, ChangeKind::bytes, ChangeKind::coverage})
    if (to_text(kind) == text) return kind;
  throw InputError("\"" + text + "\" is not a kind of change; give bits, bytes or coverage");
}

bool BaselineComparison::holds() const {
  return red.empty() && std::all_of(changes.begin(), changes.end(),
                                    [&](const BaselineChange& change) { return allowed.contains(change.kind); });
}

}  // namespace plumbline
