// Two sweeps side by side: in which cells the verdict is another, what changed in values and bytes, and in what the two
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
  std::string name;                 ///< by what the cell is: "stories260k-adamw/adamw/1f1b/P4"
  std::string before, now;          ///< "holds", "does not hold", "unstable"; "-" where there is no such cell
  std::vector<std::string> checks;  ///< "loss: holds before, fails now"
};

/// Cells whose verdict or whose checks' outcomes are not the same in both, and those that only one has; in the order of
/// `now`, then of `before`.
std::vector<CellChange> cell_changes(const Verdict& before, const Verdict& now);

/// A page that needs nothing beside it; the same for the same input.
std::string make_comparison_page(const Verdict& before, const Verdict& now, const ValuesCompared& values);

}  // namespace plumbline
