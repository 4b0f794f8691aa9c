// SPDX-License-Identifier: BSD-3-Clause
// Two sweeps side by side: in which cases the verdict is another, what changed in values and bytes, and in what the two
// machines differ.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "record/verdict.hpp"
#include "reports/baseline_result.hpp"

namespace plumbline {

/// Bits and bytes of the two, as a comparison with a baseline finds them; or why they could not be compared.
struct ValuesCompared {
  std::optional<BaselineResult> result;
  std::string why_not;
};

struct CellChange {
  std::string name;                  ///< as on every page: "stories260k, adamw, 1f1b, P = 4"
  std::string before, now;           ///< "holds", "does not hold", "unstable"; "-" where there is no such case
  std::vector<std::string> checks;   ///< "loss: holds before, fails now"
  std::optional<std::size_t> place;  ///< among the cases of `now`: its anchor there

  bool red() const { return now != "holds" && now != "-"; }
};

/// Cases that do not hold now, whose verdict or whose checks' outcomes are not the same in both, or that only one has:
/// those that do not hold now first.
std::vector<CellChange> cell_changes(const Verdict& before, const Verdict& now);

/// Where the two sweeps' own pages are, as links; empty for none.
struct ComparedPages {
  std::string before = {}, now = {};
};

/// A page that needs nothing beside it; the same for the same input.
std::string make_comparison_page(const Verdict& before, const Verdict& now, const ValuesCompared& values,
                                 const ComparedPages& pages = {});

}  // namespace plumbline
