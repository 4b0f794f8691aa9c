// SPDX-License-Identifier: BSD-3-Clause
// Comparison of two sweeps: cases with another verdict, changes of values and bytes, and differences of the
// machines.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "record/verdict.hpp"
#include "reports/baseline_result.hpp"

namespace plumbline {

/// Bits and bytes of the two, compared as with a baseline; or why they could not be compared.
struct ValuesCompared {
  std::optional<BaselineResult> result;
  std::string why_not;
};

struct CellChange {
  std::string name;                  ///< as on all pages: "stories260k, adamw, 1f1b, P = 4"
  std::string before, now;           ///< "holds", "does not hold", "unstable"; "-" if there is no such case
  std::vector<std::string> checks;   ///< "loss: holds before, fails now"
  std::optional<std::size_t> place;  ///< index among the cases of `now`, for its anchor

  bool red() const { return now != "holds" && now != "-"; }
};

/// Cases that do not hold now, that differ in verdict or in outcomes of checks, or that only one sweep has:
/// failing ones first.
std::vector<CellChange> cell_changes(const Verdict& before, const Verdict& now);

/// Links to the two sweeps' pages; empty for none.
struct ComparedPages {
  std::string before = {}, now = {};
};

/// A self-contained page; the same for the same input.
std::string make_comparison_page(const Verdict& before, const Verdict& now, const ValuesCompared& values,
                                 const ComparedPages& pages = {});

}  // namespace plumbline
